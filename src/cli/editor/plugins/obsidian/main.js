// situated editor plugin: search and related notes for Obsidian, from the daemon on this machine. It reads the socket and
// asks Obsidian to open notes; it writes nothing.
// It is put behind the client of the plugin for VS Code, for Obsidian loads one file.

const { ItemView, Notice, Plugin, PluginSettingTab, Setting, SuggestModal } = require("obsidian");

const RELATED = "situated-related";
const DEFAULTS = { binary: "situated", limit: 20 };

// Words of a failure for a notice.
function said(failure) {
  return [failure.message, failure.hint].filter(Boolean).join(" ");
}

class Search extends SuggestModal {
  constructor(plugin) {
    super(plugin.app);
    this.plugin = plugin;
    this.turn = 0;
    this.request = null;
    this.setPlaceholder("Search your notes");
  }

  // Only the newest question is answered: Obsidian would show whatever comes last, so one that was overtaken never ends.
  getSuggestions(query) {
    const turn = ++this.turn;
    this.request?.cancel();
    this.request = null;
    if (!query.trim()) return [];
    const { client, settings } = this.plugin;
    return new Promise((resolve) => {
      const newest = (hits) => turn === this.turn && resolve(hits);
      setTimeout(async () => {
        if (turn !== this.turn) return;
        try {
          // What the daemon calls this vault is known only then.
          await client.connect();
          if (turn !== this.turn) return;
          const params = { query, prefix: true, limit: settings.limit, vault: this.plugin.vault() };
          this.request = client.request("search", params);
          newest((await this.request.answer)?.hits ?? []);
        } catch (failure) {
          if (turn === this.turn) new Notice(said(failure));
          newest([]);
        }
      }, 30);
    });
  }

  renderSuggestion(hit, element) {
    element.createDiv({ text: titleOf(hit) });
    element.createEl("small", { text: `${plain(hit.path)}:${lineOf(hit)}  ${plain(hit.snippet)}` });
  }

  onChooseSuggestion(hit, event) {
    this.plugin.openHit(hit, Boolean(event?.ctrlKey || event?.metaKey));
  }

  onClose() {
    this.turn++;
    this.request?.cancel();
  }
}

class Related extends ItemView {
  constructor(leaf, plugin) {
    super(leaf);
    this.plugin = plugin;
    this.turn = 0;
    this.request = null;
  }

  getViewType() {
    return RELATED;
  }

  getDisplayText() {
    return "Related notes";
  }

  getIcon() {
    return "links-coming-in";
  }

  async onOpen() {
    const { vault, workspace } = this.app;
    this.registerEvent(workspace.on("file-open", () => this.refresh()));
    this.registerEvent(vault.on("modify", (file) => file === workspace.getActiveFile() && this.later()));
    await this.refresh();
  }

  async onClose() {
    this.turn++;
    clearTimeout(this.timer);
    this.request?.cancel();
  }

  // What is saved is indexed a moment later, and Obsidian saves while one types.
  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(), 1000);
  }

  async refresh() {
    const turn = ++this.turn;
    this.request?.cancel();
    const file = this.app.workspace.getActiveFile();
    if (!file) return this.show([], "");
    try {
      const { client, settings } = this.plugin;
      await client.connect();
      if (turn !== this.turn) return;
      // A vault that the daemon does not have has no related notes.
      const vault = this.plugin.vault();
      if (!vault) return this.show([], "");
      this.request = client.request("related", { path: file.path, vault, group: "note", limit: settings.limit });
      const answer = await this.request.answer;
      if (answer && turn === this.turn) this.show(answer.hits ?? [], "");
    } catch (failure) {
      if (turn === this.turn) this.show([], failure.kind === "not_found" ? "" : said(failure));
    }
  }

  show(hits, words) {
    const { contentEl } = this;
    contentEl.empty();
    if (words) contentEl.createEl("p", { text: words });
    for (const hit of hits) {
      const row = contentEl.createDiv({ cls: "tree-item-self is-clickable" });
      row.createDiv({ text: titleOf(hit) });
      row.createEl("small", { text: plain(hit.snippet) });
      row.addEventListener("click", (event) => this.plugin.openHit(hit, event.ctrlKey || event.metaKey));
    }
  }
}

class Settings extends PluginSettingTab {
  constructor(app, plugin) {
    super(app, plugin);
    this.plugin = plugin;
  }

  display() {
    const { containerEl, plugin } = this;
    containerEl.empty();
    new Setting(containerEl)
      .setName("Program")
      .setDesc("Where `situated` is, if not on the path that Obsidian was started with.")
      .addText((text) =>
        text.setValue(plugin.settings.binary).onChange(async (binary) => {
          plugin.settings.binary = binary.trim() || DEFAULTS.binary;
          await plugin.saveData(plugin.settings);
          plugin.start();
        }),
      );
  }
}

module.exports = class Situated extends Plugin {
  async onload() {
    this.settings = { ...DEFAULTS, ...(await this.loadData()) };
    this.start();
    this.registerView(RELATED, (leaf) => new Related(leaf, this));
    this.addCommand({ id: "search", name: "Search", callback: () => new Search(this).open() });
    this.addCommand({ id: "related", name: "Related notes", callback: () => this.showRelated() });
    this.addSettingTab(new Settings(this.app, this));
  }

  onunload() {
    this.client.close();
  }

  start() {
    this.client?.close();
    this.client = new Client({ binary: this.settings.binary, name: "situated-obsidian" });
  }

  // What the daemon calls the vault that is open here, if it has it.
  vault() {
    return this.client.vaultAt(this.app.vault.adapter.getBasePath());
  }

  async showRelated() {
    const { workspace } = this.app;
    const leaf = workspace.getLeavesOfType(RELATED)[0] ?? workspace.getRightLeaf(false);
    await leaf.setViewState({ type: RELATED, active: true });
    workspace.revealLeaf(leaf);
  }

  async openHit(hit, inNewTab) {
    const { vault, workspace } = this.app;
    const line = lineOf(hit) - 1;
    const file = hit.vault === this.vault() ? vault.getAbstractFileByPath(hit.path) : null;
    if (file) return workspace.getLeaf(inNewTab ? "tab" : false).openFile(file, { eState: { line } });
    const root = this.client.roots.get(hit.vault);
    if (!root) return new Notice("This note is in no vault that Obsidian could open.");
    // Another vault's note: Obsidian knows by its path which vault to open.
    window.open(`obsidian://open?path=${encodeURIComponent(nodePath.join(root, hit.path))}`);
  }
};
