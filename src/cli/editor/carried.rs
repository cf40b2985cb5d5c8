//! The plugins that this program contains, and where editors look for them.

use std::path::{Path, PathBuf};

use crate::cli::args::EditorName;

/// A plugin.
#[derive(Debug)]
pub(super) struct Plugin {
    pub(super) editor: EditorName,
    /// As it is typed.
    pub(super) name: &'static str,
    /// As its users call it.
    pub(super) title: &'static str,
    /// Paths in the plugin's folder, and texts.
    pub(super) files: &'static [(&'static str, &'static str)],
}

macro_rules! files {
    ($folder:literal: $($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("plugins/", $folder, "/", $path)))),+]
    };
}

/// Where Obsidian keeps what belongs to a vault.
pub(super) const OBSIDIAN: &str = ".obsidian";

/// Where Neovim looks for the plugin: a package of our own (`:help packages`), and the plugin in it.
pub(super) const PACKAGE: &str = "pack/situated/start/situated";

/// All of them.
pub(super) static PLUGINS: [Plugin; 4] = [
    Plugin {
        editor: EditorName::Neovim,
        name: "neovim",
        title: "Neovim",
        files: files!("neovim": "plugin/situated.lua", "lua/situated/init.lua", "lua/situated/client.lua",
            "lua/situated/search.lua", "lua/situated/related.lua", "doc/situated.txt"),
    },
    Plugin {
        editor: EditorName::Emacs,
        name: "emacs",
        title: "Emacs",
        files: files!("emacs": "situated.el", "situated-client.el", "situated-related.el"),
    },
    Plugin {
        editor: EditorName::Vscode,
        name: "vscode",
        title: "Visual Studio Code",
        files: files!("vscode": "package.json", "extension.js", "client.js", "search.js", "related.js"),
    },
    Plugin {
        editor: EditorName::Obsidian,
        name: "obsidian",
        title: "Obsidian",
        files: &[
            ("manifest.json", include_str!("plugins/obsidian/manifest.json")),
            // Obsidian loads one file, so the client stands in it.
            ("main.js", concat!(include_str!("plugins/vscode/client.js"), include_str!("plugins/obsidian/main.js"))),
        ],
    },
];

/// What the places of plugins depend on.
#[derive(Clone, Debug, Default)]
pub(super) struct Surroundings {
    pub(super) home: PathBuf,
    /// `XDG_DATA_HOME`, if it is set.
    pub(super) data_home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`, if it is set.
    pub(super) config_home: Option<PathBuf>,
    /// `NVIM_APPNAME`, if it is set: a Neovim may be run under another name.
    pub(super) nvim_name: Option<PathBuf>,
    /// The vault whose plugins are meant, for Obsidian.
    pub(super) vault: Option<PathBuf>,
}

impl Plugin {
    /// The plugin of an editor.
    pub(super) fn of(editor: EditorName) -> &'static Plugin {
        let found = PLUGINS.iter().find(|plugin| plugin.editor == editor);
        found.unwrap_or(&PLUGINS[0])
    }

    /// Where the editor looks for it; `None` for Obsidian without a vault.
    pub(super) fn folder(&self, around: &Surroundings) -> Option<PathBuf> {
        let Surroundings { home, data_home, config_home, nvim_name, vault } = around;
        Some(match self.editor {
            EditorName::Neovim => data_home
                .clone()
                .unwrap_or_else(|| home.join(".local/share"))
                .join(nvim_name.as_deref().unwrap_or(Path::new("nvim")))
                .join("site")
                .join(PACKAGE),
            // Emacs takes the first of these that is there (`(emacs) Find Init`).
            EditorName::Emacs => {
                let of_config = config_home.clone().unwrap_or_else(|| home.join(".config")).join("emacs");
                let own = home.join(".emacs.d");
                if !own.is_dir() && of_config.is_dir() { of_config } else { own }.join("situated")
            }
            EditorName::Vscode => home.join(".vscode/extensions/situated.situated-0.1.0"),
            EditorName::Obsidian => vault.as_ref()?.join(OBSIDIAN).join("plugins/situated"),
        })
    }

    /// What the user does next.
    pub(super) fn next(&self, folder: &Path) -> String {
        match self.editor {
            EditorName::Neovim => {
                format!(
                    "Start Neovim anew: `:Situated` searches, `:SituatedRelated` shows what lies near the note.\n\
                     With lazy.nvim, which looks into no packages, put this among its plugins:\n  \
                     {{ dir = {:?} }}\n\
                     A key for it, in your init.lua:\n  \
                     vim.keymap.set(\"n\", \"<leader>s\", \"<Cmd>Situated<CR>\")\n\
                     `:helptags ALL` once, and `:help situated` tells the rest.",
                    folder.to_string_lossy()
                )
            }
            EditorName::Emacs => format!(
                "Put this into your init file, and start Emacs anew:\n  \
                 (add-to-list 'load-path {:?})\n  (require 'situated)\n  \
                 (global-set-key (kbd \"C-c s\") #'situated-search)\n  \
                 (global-set-key (kbd \"C-c r\") #'situated-related)",
                folder.to_string_lossy()
            ),
            EditorName::Vscode => "Start VS Code anew: Ctrl+Alt+S searches (Cmd+Alt+S on a Mac), and the explorer has the related notes. Does it not \
                                   know the plugin, its command `Developer: Install Extension from Location...` takes the folder above."
                .to_owned(),
            EditorName::Obsidian => "Switch it on in Obsidian's settings, under Community plugins (reload the list there): its commands are `Situated: \
                                     Search` and `Situated: Related notes`."
                .to_owned(),
        }
    }
}
