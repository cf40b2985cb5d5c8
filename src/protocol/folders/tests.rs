use std::fs;

use super::*;

/// A path that is absolute here.
macro_rules! at_root {
    ($path:literal) => {
        if cfg!(windows) { concat!("C:", $path) } else { $path }
    };
}

fn folders(platform: Platform, home: &Path, variables: &[(&str, &Path)]) -> Folders {
    let variable = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_os_str().to_owned())
    };
    Folders::of(platform, &Bases::usual(platform, home), &variable)
}

fn mac(home: &Path, variables: &[(&str, &Path)]) -> Folders {
    folders(Platform::Mac, home, variables)
}

/// A file, with all folders above it.
fn write(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "").unwrap();
}

#[test]
fn xdg_has_one_place_for_each() {
    let home = Path::new(at_root!("/home/me"));
    let found = folders(Platform::Xdg, home, &[]);
    let at = |path: &str| Location { path: home.join(path), former: None };
    assert_eq!(found.config_file, at(".config/situated/config.toml"));
    assert_eq!(found.data_dir, at(".local/share/situated"));
    assert_eq!(found.state_dir, Some(home.join(".local/state/situated")));
    assert_eq!((found.socket_dir, found.home.as_deref()), (None, Some(home)));
    assert_eq!(found.hub_cache, home.join(".cache/huggingface/hub"));
}

#[test]
fn a_mac_has_its_library() {
    let home = Path::new(at_root!("/Users/me"));
    let found = mac(home, &[]);
    let own = home.join("Library/Application Support/situated");
    assert_eq!(found.config_file.path, own.join("config.toml"));
    assert_eq!(found.data_dir.path, own.join("data"));
    assert_eq!((found.socket_dir, found.state_dir), (Some(own.join("run")), None));
    assert_eq!(found.hub_cache, home.join(".cache/huggingface/hub"), "where the hub's own programs have it on a Mac");
    let former = |path: &str| Some(Former { path: home.join(path), named: false });
    assert_eq!(found.config_file.former, former(".config/situated/config.toml"));
    assert_eq!(found.data_dir.former, former(".local/share/situated"));
}

#[test]
fn windows_keeps_indexes_on_the_machine() {
    let home = Path::new(at_root!("/Users/me"));
    let found = folders(Platform::Windows, home, &[]);
    let at = |path: &str| Location { path: home.join(path), former: None };
    assert_eq!(found.config_file, at("AppData/Roaming/situated/config.toml"));
    assert_eq!(found.data_dir, at("AppData/Local/situated/data"));
    assert_eq!((found.socket_dir, found.state_dir), (Some(home.join("AppData/Local/situated/run")), None));
    assert_eq!(found.hub_cache, home.join(".cache/huggingface/hub"));
}

#[test]
fn a_relative_home_is_none() {
    let found = folders(Platform::Xdg, Path::new("me"), &[]);
    assert_eq!((found.home, found.data_dir.path), (None, PathBuf::from("/.local/share/situated")));
    assert_eq!(mac(Path::new(""), &[]).socket_dir, None);
}

#[test]
fn what_this_process_uses_is_absolute() {
    let here = Folders::here();
    assert!(here.config_file.path.is_absolute() && here.data_dir.path.is_absolute());
    assert_eq!(here.home, home());
    if let Some(home) =
        here.home.filter(|_| std::env::vars_os().all(|(name, _)| name.to_str() != Some("XDG_DATA_HOME")))
    {
        assert_eq!(here.data_dir.path, Folders::without_variables(&home).data_dir.path, "as the crate has it");
    }
}

#[test]
fn the_former_place_serves_until_the_present_one_holds_something() {
    let home = tempfile::tempdir().unwrap();
    let data = mac(home.path(), &[]).data_dir;
    let former = data.former.clone().unwrap().path;
    assert_eq!((data.in_use(), data.left_behind()), (&*data.path, None), "neither is there");
    fs::create_dir_all(&former).unwrap();
    assert_eq!(data.in_use(), data.path, "an empty folder is nothing");
    write(&former.join("lock"));
    assert_eq!((data.in_use(), data.left_behind()), (&*former, None));
    fs::create_dir_all(&data.path).unwrap();
    assert_eq!(data.in_use(), former, "an empty folder is nothing");
    write(&data.path.join("lock"));
    assert_eq!((data.in_use(), data.left_behind()), (&*data.path, Some(&*former)));
    fs::remove_dir_all(&former).unwrap();
    assert_eq!((data.in_use(), data.left_behind()), (&*data.path, None));
    // A disk that is not mounted: what is behind the link is not lost.
    #[cfg(unix)]
    {
        fs::remove_dir_all(&data.path).unwrap();
        platform::files::symlink(Path::new("/not/mounted"), &former).unwrap();
        assert_eq!(data.in_use(), former);
    }
}

#[test]
fn a_place_that_a_variable_names_is_known_as_such() {
    let home = tempfile::tempdir().unwrap();
    let xdg = home.path().join("dotfiles");
    let usual = home.path().join(".config/situated/config.toml");
    let variables = [("XDG_CONFIG_HOME", xdg.as_path())];
    assert_eq!(mac(home.path(), &variables).config_file.former, Some(Former { path: usual.clone(), named: false }));
    let named = xdg.join("situated/config.toml");
    write(&named);
    let file = mac(home.path(), &variables).config_file;
    assert_eq!(file.former, Some(Former { path: named.clone(), named: true }));
    assert!(file.in_use() == named && file.is_usual(&file.path) && !file.is_usual(&named) && !file.is_usual(&usual));
    let relative = mac(home.path(), &[("XDG_CONFIG_HOME", Path::new("dotfiles"))]).config_file;
    assert!(relative.former.as_ref().is_some_and(|former| !former.named), "relative counts as unset");
    assert!(relative.is_usual(&usual));
}

#[test]
fn the_cache_of_the_hub_is_where_its_variables_say() {
    let (home, hf) = (Path::new(at_root!("/home/me")), Path::new(at_root!("/hf")));
    let cache = |variables: &[(&str, &Path)]| folders(Platform::Xdg, home, variables).hub_cache;
    assert_eq!(cache(&[("HF_HOME", hf)]), Path::new(at_root!("/hf/hub")));
    assert_eq!(cache(&[("HF_HOME", hf), ("HF_HUB_CACHE", Path::new(at_root!("/hub")))]), Path::new(at_root!("/hub")));
    assert_eq!(cache(&[("HF_HOME", Path::new(""))]), home.join(".cache/huggingface/hub"));
}
