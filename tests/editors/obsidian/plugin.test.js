// situated editor plugin: tests of the plugin for Obsidian, whose API stands here as far as the plugin uses it.
// node --test tests/editors/obsidian/
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");
const test = require("node:test");
const { hit, inPieces, serve, until } = require("../fake.js");

const PLUGINS = path.resolve(__dirname, "../../../src/cli/editor/plugins");

// An element that has text, children and listeners; it has no way to take HTML.
class Element {
  constructor(text = "") {
    this.text = text;
    this.children = [];
    this.listeners = {};
  }
  createEl(_, { text } = {}) {
    const child = new Element(text);
    this.children.push(child);
    return child;
  }
  createDiv(options) {
    return this.createEl("div", options);
  }
  empty() {
    this.children = [];
  }
  addEventListener(name, listener) {
    this.listeners[name] = listener;
  }
  words() {
    return [this.text, ...this.children.map((child) => child.words())].filter(Boolean).join("|");
  }
}

const notices = [];
const urls = [];
globalThis.window = { open: (url) => urls.push(url) };
const obsidian = {
  ItemView: class {
    constructor(leaf) {
      this.app = leaf.app;
      this.contentEl = new Element();
    }
    registerEvent() {}
  },
  Notice: class {
    constructor(words) {
      notices.push(words);
    }
  },
  Plugin: class {
    constructor(app) {
      this.app = app;
      this.commands = {};
      this.views = {};
    }
    async loadData() {
      return null;
    }
    registerView(name, make) {
      this.views[name] = make;
    }
    addCommand(command) {
      this.commands[command.id] = command;
    }
    addSettingTab() {}
  },
  PluginSettingTab: class {},
  Setting: class {},
  SuggestModal: class {
    constructor(app) {
      this.app = app;
    }
    setPlaceholder() {}
  },
};
const load = Module._load;
Module._load = (name, ...rest) => (name === "obsidian" ? obsidian : load(name, ...rest));
// As it is installed: the client of the plugin for VS Code first.
const main = ["vscode/client.js", "obsidian/main.js"].map((name) => fs.readFileSync(path.join(PLUGINS, name), "utf8")).join("");
const made = new Module("main.js");
made._compile(main, path.join(PLUGINS, "main.js"));
const Situated = made.exports;

// An Obsidian with a vault open, and the plugin in it.
async function opened(root) {
  const state = { active: null, openedFiles: [], tabs: [], search: null };
  const app = {
    vault: {
      adapter: { getBasePath: () => root },
      getAbstractFileByPath: (name) => ({ path: name }),
      on: () => ({}),
    },
    workspace: {
      getActiveFile: () => state.active,
      getLeaf: (tab) => ({
        openFile: async (file, options) => {
          state.tabs.push(tab);
          state.openedFiles.push([file.path, options.eState.line]);
        },
      }),
      getLeavesOfType: () => [],
      on: () => ({}),
    },
  };
  const plugin = new Situated(app);
  obsidian.SuggestModal.prototype.open = function () {
    state.search = this;
  };
  await plugin.onload();
  plugin.commands.search.callback();
  const view = plugin.views["situated-related"]({ app });
  return { ...state, state, plugin, view, search: state.search };
}

test("the plugin neither writes nor makes HTML, and its manifest says that it needs a desktop", () => {
  for (const word of ["innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "writeFile", "vault.modify", "vault.create", "vault.delete"]) {
    assert.ok(!main.includes(word), word);
  }
  const manifest = JSON.parse(fs.readFileSync(path.join(PLUGINS, "obsidian/manifest.json"), "utf8"));
  assert.deepEqual([manifest.id, manifest.isDesktopOnly], ["situated", true]);
});

test("a long answer in small pieces arrives whole", async () => {
  const text = "ö".repeat(100_000);
  const daemon = await serve((request, _, socket) => {
    inPieces(socket, JSON.stringify({ jsonrpc: "2.0", id: request.id, result: { hits: [hit({ snippet: text })] } }));
  });
  const { search, plugin } = await opened(daemon.root);
  const hits = await search.getSuggestions("long");
  assert.equal(hits[0].snippet, text);
  plugin.onunload();
  await daemon.stop();
});

test("only the newest question is answered", async () => {
  const waiting = [];
  const daemon = await serve((request, answer) => {
    if (request.params.query === "old") waiting.push(answer);
    else answer({ hits: [hit({ title: "New" })] });
  });
  const { search, plugin } = await opened(daemon.root);
  let overtaken = true;
  search.getSuggestions("old").then(() => (overtaken = false));
  await until("the first question", () => waiting.length === 1);
  const hits = await search.getSuggestions("new");
  waiting[0]({ hits: [hit({ title: "Old" })] });
  assert.equal(hits[0].title, "New");
  await search.getSuggestions("newer");
  assert.ok(overtaken, "what was overtaken never ends, for Obsidian would show it");
  assert.deepEqual(search.getSuggestions("  "), []);
  plugin.onunload();
  await daemon.stop();
});

test("errors and a daemon that is away are told, and the next search works", async () => {
  let turn = 0;
  const daemon = await serve((request, answer, socket) => {
    turn += 1;
    if (turn === 1) answer.error({ message: "no such condition", data: { hint: "write tag:" } });
    else if (turn === 2) socket.end('{"jsonrpc":');
    else answer({ hits: [hit({})] });
  });
  const { search, plugin } = await opened(daemon.root);
  assert.deepEqual(await search.getSuggestions("one"), []);
  assert.equal(notices.pop(), "no such condition write tag:");
  assert.deepEqual(await search.getSuggestions("two"), []);
  assert.match(notices.pop(), /ended the connection.*situated service install/);
  assert.equal((await search.getSuggestions("three")).length, 1);
  await daemon.stop();
  assert.deepEqual(await search.getSuggestions("four"), []);
  assert.match(notices.pop(), /not running|ended the connection/);
  plugin.onunload();
});

test("a hit is opened at its line, and one of another vault by Obsidian's own address", async () => {
  const daemon = await serve((_, answer) => answer({ hits: [] }));
  const { search, plugin, state } = await opened(daemon.root);
  await search.getSuggestions("x");
  for (const name of ["--help.md", "two words & 'quotes'.md", "new\nline.md"]) {
    search.onChooseSuggestion(hit({ path: name }), { ctrlKey: true });
    assert.deepEqual(state.openedFiles.pop(), [name, 2]);
    assert.equal(state.tabs.pop(), "tab");
  }
  plugin.client.roots.set("other", "/elsewhere");
  search.onChooseSuggestion(hit({ vault: "other", path: "a b.md" }), {});
  assert.deepEqual(urls, ["obsidian://open?path=%2Felsewhere%2Fa%20b.md"]);
  plugin.onunload();
  await daemon.stop();
});

test("what is shown is text, without control characters", async () => {
  const daemon = await serve((_, answer) => answer({ hits: [] }));
  const { search, plugin } = await opened(daemon.root);
  const element = new Element();
  search.renderSuggestion(hit({ title: "<img src=x> \u001b[31m\u202e", heading_path: ["<img src=x> \u001b[31m\u202e", "Below"] }), element);
  assert.equal(element.words(), "<img src=x> ?[31m? › Below|a.md:3  words");
  plugin.onunload();
  await daemon.stop();
});

test("the related notes follow the note at hand", async () => {
  const daemon = await serve((request, answer) => {
    if (request.params.path === "Gone.md") return answer.error({ message: "not known", data: { kind: "not_found" } });
    if (request.params.path === "Bad.md") return answer.error({ message: "the index failed", data: { kind: "storage" } });
    answer({ hits: [hit({ title: `near ${request.params.path}`, path: "b.md" })] });
  });
  const { view, plugin, state } = await opened(daemon.root);
  const shown = async (name) => {
    state.active = name && { path: name };
    await view.refresh();
    return view.contentEl.words();
  };
  assert.equal(await shown("A.md"), "near A.md|words");
  view.contentEl.children[0].listeners.click({});
  assert.deepEqual(state.openedFiles.pop(), ["b.md", 2]);
  assert.equal(await shown("Gone.md"), "");
  assert.equal(await shown("Bad.md"), "the index failed");
  assert.equal(await shown(null), "");
  await view.onClose();
  plugin.onunload();
  await daemon.stop();

  const other = await serve((_, answer) => answer({ hits: [hit({})] }));
  const elsewhere = await opened("/a/vault/that/the/daemon/does/not/have");
  elsewhere.state.active = { path: "A.md" };
  await elsewhere.view.refresh();
  assert.equal(elsewhere.view.contentEl.words(), "");
  elsewhere.plugin.onunload();
  await other.stop();
});

const real = process.env.SITUATED_TEST_SOCKET;
test("with a real daemon", { skip: real ? false : "no daemon is named" }, async () => {
  process.env.SITUATED_SOCKET = real;
  const [note, line] = process.env.SITUATED_TEST_EXPECT.split(":");
  const { search, view, plugin, state } = await opened(process.env.SITUATED_TEST_VAULT);
  const hits = await search.getSuggestions(process.env.SITUATED_TEST_QUERY);
  search.onChooseSuggestion(hits[0], {});
  assert.deepEqual(state.openedFiles.pop(), [note, Number(line) - 1]);
  state.active = { path: note };
  await view.refresh();
  assert.ok(view.contentEl.children.length > 0, view.contentEl.words());
  plugin.onunload();
});
