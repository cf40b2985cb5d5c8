// situated editor plugin: search and related notes for Obsidian, from the daemon on this machine. It reads the socket and
// asks Obsidian to open notes; it writes nothing.
"use strict";

const childProcess = require("node:child_process");
const fs = require("node:fs");
const net = require("node:net");
const nodePath = require("node:path");
const { ItemView, Notice, Plugin, PluginSettingTab, Setting, SuggestModal } = require("obsidian");

// What stands between these marks is alike in the plugins for VS Code and Obsidian; a test compares them.
// >>> client
const START = "Start it with `situated run VAULT`, or for good with `situated service start`.";

// Pieces of a stream in, whole lines out. A long answer comes in many pieces, so each byte is looked at once, and joined
// once, when its line is whole; only then is it decoded, for a character may be split between two pieces.
class Lines {
  constructor(onLine) {
    this.onLine = onLine;
    this.pieces = [];
    this.scanned = 0; // bytes, for tests
  }

  push(piece) {
    let from = 0;
    for (;;) {
      const end = piece.indexOf(10, from);
      this.scanned += (end < 0 ? piece.length : end + 1) - from;
      if (end < 0) break;
      this.pieces.push(piece.subarray(from, end));
      from = end + 1;
      const line = Buffer.concat(this.pieces).toString("utf8");
      this.pieces = [];
      this.onLine(line);
    }
    if (from < piece.length) this.pieces.push(piece.subarray(from));
  }
}

// What went wrong, and what to do about it.
class Failure extends Error {
  constructor(message, hint, kind) {
    super(message);
    // The message may say it already.
    this.hint = hint && message?.endsWith(hint) ? undefined : hint;
    this.kind = kind;
  }
}

// A path without symbolic links, as far as that can be told.
function real(path) {
  try {
    return fs.realpathSync(path);
  } catch {
    return path;
  }
}

// One connection, made by the first request, and anew by the next one after it was lost. Nothing here waits for long or
// throws in passing: every request ends with an answer, a `Failure`, or `undefined` if it was cancelled.
class Client {
  constructor(options) {
    this.options = options; // { binary, socket, name, timeout }
    this.roots = new Map(); // folders of the vaults, by name
    this.pending = new Map();
    this.nextId = 1;
    this.ready = null;
    this.socket = null;
  }

  request(method, params) {
    const id = this.nextId++;
    const answer = new Promise((resolve, reject) => {
      const late = () => {
        this.send({ jsonrpc: "2.0", method: "cancel", params: { id } });
        this.settle(id, new Failure("The situated daemon does not answer.", "`situated status` says how it is."));
      };
      this.pending.set(id, { resolve, reject, timer: setTimeout(late, this.options.timeout ?? 10000) });
    });
    this.connect().then(
      () => this.pending.has(id) && this.send({ jsonrpc: "2.0", id, method, params }),
      (failure) => this.settle(id, failure),
    );
    const cancel = () => {
      if (this.settle(id, null, undefined)) this.send({ jsonrpc: "2.0", method: "cancel", params: { id } });
    };
    return { answer, cancel };
  }

  close() {
    for (const id of [...this.pending.keys()]) this.settle(id, null, undefined);
    this.disconnect();
  }

  // The vault whose folder this is.
  vaultAt(folder) {
    for (const [name, root] of this.roots) if (real(root) === real(folder)) return name;
    return undefined;
  }

  // The vault that a file lies in, and its path there; undefined if it lies in none. The longest root wins: vaults may nest.
  locate(file) {
    let best;
    let length = -1;
    for (const name of [file, real(file)]) {
      for (const [vault, root] of this.roots) {
        for (const start of [root, real(root)].map((folder) => folder.replace(/[\\/]*$/, nodePath.sep))) {
          if (start.length <= length || !name.startsWith(start)) continue;
          length = start.length;
          best = { vault, path: name.slice(length).replaceAll(nodePath.sep, "/") };
        }
      }
    }
    return best;
  }

  settle(id, failure, result) {
    const request = this.pending.get(id);
    if (!request) return false;
    this.pending.delete(id);
    clearTimeout(request.timer);
    if (failure) request.reject(failure);
    else request.resolve(result);
    return true;
  }

  send(message) {
    if (this.socket && !this.socket.destroyed) this.socket.write(JSON.stringify(message) + "\n");
  }

  disconnect() {
    const socket = this.socket;
    this.socket = null;
    this.ready = null;
    if (socket) socket.destroy();
  }

  // All that was asked fails alike.
  fail(failure) {
    this.disconnect();
    for (const id of [...this.pending.keys()]) this.settle(id, failure);
  }

  connect() {
    this.ready ??= this.findSocket().then((path) => this.open(path));
    const ready = this.ready;
    ready.catch(() => {
      if (this.ready === ready) this.ready = null;
    });
    return ready;
  }

  // The binary knows it also where the environment is not the shell's, as in a program that a desktop has started.
  findSocket() {
    const known = this.options.socket || process.env.SITUATED_SOCKET;
    if (known) return Promise.resolve(known);
    return new Promise((resolve, reject) => {
      childProcess.execFile(this.options.binary, ["socket"], { timeout: 5000 }, (error, stdout) => {
        const path = String(stdout ?? "").trim();
        if (!error && path) return resolve(path);
        const message = `\`${this.options.binary} socket\` does not say where the daemon is.`;
        reject(new Failure(message, "Install situated, or set where it is in this plugin's settings."));
      });
    });
  }

  open(path) {
    return new Promise((resolve, reject) => {
      const socket = net.connect(path);
      let stands = false;
      this.socket = socket;
      const ended = (message) => {
        if (this.socket !== socket) return reject(new Failure(message, START));
        const failure = new Failure(message, START);
        reject(failure);
        this.fail(failure);
      };
      const lines = new Lines((line) => {
        let message;
        try {
          message = JSON.parse(line);
        } catch {
          return ended("What answers on the socket does not speak as situated does.");
        }
        const { id, error, result } = message ?? {};
        const failure = error && new Failure(error.message, error.data?.hint, error.data?.kind);
        if (id === 0 && result) {
          this.roots = new Map((result.vaults ?? []).map((vault) => [vault.name, vault.path]));
          stands = true;
          return resolve();
        }
        if (failure && (id === null || id === 0)) {
          reject(failure); // too many connections, or no protocol in common
          return this.fail(failure);
        }
        this.settle(id, failure, result);
      });
      socket.on("connect", () => this.send({ jsonrpc: "2.0", id: 0, method: "hello", params: { client: this.options.name } }));
      socket.on("data", (piece) => lines.push(piece));
      socket.on("error", () => ended("The situated daemon is not running."));
      socket.on("close", () => ended(stands ? "The situated daemon ended the connection." : "The situated daemon is not running."));
    });
  }
}

// Text of notes for one line of a list: whatever steers a screen or turns the reading direction is shown as `?`.
function plain(text) {
  return String(text ?? "")
    .replace(/\s+/g, " ")
    .replace(/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, "?")
    .trim();
}

// Title and headings, each once; the line that answers.
function titleOf(hit) {
  const headings = (hit.heading_path ?? []).filter((heading, at) => at > 0 || heading !== hit.title);
  return plain([hit.title || hit.path, ...headings].join(" › "));
}

function lineOf(hit) {
  return hit.match_line || hit.line || 1;
}
// <<< client

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
