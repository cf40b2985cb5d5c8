// situated editor plugin: tests of the plugin for VS Code, whose API stands here as far as the plugin uses it.
// node --test tests/editors/vscode/
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");
const test = require("node:test");
const { hit, inPieces, serve, until } = require("../fake.js");

const PLUGIN = path.resolve(__dirname, "../../../src/cli/editor/plugins/vscode");

class EventEmitter {
  constructor() {
    this.listeners = [];
    this.event = (listener) => this.listeners.push(listener);
  }
  fire(value) {
    this.listeners.forEach((listener) => listener(value));
  }
}

const opened = [];
const warned = [];
let pick = null;
const vscode = {
  EventEmitter,
  Range: class {
    constructor(...place) {
      this.place = place;
    }
  },
  ThemeIcon: class {},
  Uri: { file: (name) => ({ scheme: "file", fsPath: name }) },
  ViewColumn: { Beside: -2 },
  commands: {
    ran: [],
    executeCommand: async (...command) => vscode.commands.ran.push(command),
    registered: {}, registerCommand: (name, run) => ((vscode.commands.registered[name] = run), { dispose() {} }),
  },
  window: {
    activeTextEditor: undefined,
    createQuickPick: () => {
      const listeners = {};
      const on = (name) => (listener) => (listeners[name] = listener);
      pick = { items: [], selectedItems: [], value: "", shown: false, disposed: false };
      Object.assign(pick, {
        onDidChangeValue: on("value"),
        onDidAccept: on("accept"),
        onDidTriggerItemButton: on("button"),
        onDidHide: on("hide"),
        show: () => (pick.shown = true),
        hide: () => listeners.hide(),
        dispose: () => (pick.disposed = true),
        type: (value) => ((pick.value = value), listeners.value(value)),
        accept: (item) => ((pick.selectedItems = [item]), listeners.accept()),
        press: (item) => listeners.button({ item }),
      });
      return pick;
    },
    showTextDocument: async (document, place) => opened.push({ ...document, ...place }),
    showWarningMessage: async (words) => warned.push(words),
    registerTreeDataProvider: () => ({ dispose() {} }),
    onDidChangeActiveTextEditor: () => ({ dispose() {} }),
    onDidChangeTextEditorSelection: () => ({ dispose() {} }),
  },
  workspace: {
    getConfiguration: () => ({ get: (_, usual) => usual }),
    openTextDocument: async (uri) => ({ file: uri.fsPath }),
    onDidSaveTextDocument: () => ({ dispose() {} }),
  },
};
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
const { Client, Failure, Lines, plain } = require(path.join(PLUGIN, "client.js"));
const { label, search } = require(path.join(PLUGIN, "search.js"));
const { Related } = require(path.join(PLUGIN, "related.js"));
const extension = require(path.join(PLUGIN, "extension.js"));

async function searching(handle) {
  const daemon = await serve(handle);
  const client = new Client({ binary: "situated", name: "test" });
  search(vscode, client, 20);
  const end = async () => {
    client.close();
    await daemon.stop();
  };
  return { daemon, client, end };
}

test("a long answer in small pieces arrives whole, and each byte is looked at once", async () => {
  for (const size of [200_000, 2_000_000]) {
    const text = "ä".repeat(size / 2);
    const { end } = await searching((request, _, socket) => {
      const result = { hits: [hit({ snippet: text })] };
      inPieces(socket, JSON.stringify({ jsonrpc: "2.0", id: request.id, result }));
    });
    pick.type("long");
    await until("the answer", () => pick.items.length === 1);
    assert.equal(pick.items[0].detail, text);
    await end();
  }
  const seen = [];
  const lines = new Lines((line) => seen.push(line));
  const bytes = Buffer.from("é".repeat(100_000) + "\nsecond\n\nla");
  for (let at = 0; at < bytes.length; at += 63) lines.push(bytes.subarray(at, at + 63));
  assert.deepEqual(seen, ["é".repeat(100_000), "second", ""]);
  assert.equal(lines.scanned, bytes.length);
});

test("only the newest question is answered", async () => {
  const late = [];
  const { daemon, end } = await searching((request, answer) => {
    if (request.params.query === "old") late.push(() => answer({ hits: [hit({ title: "Old" })] }));
    else answer({ hits: [hit({ title: "New" })] });
  });
  pick.type("old");
  await until("the first question", () => late.length === 1);
  pick.type("new");
  await until("the answer", () => pick.items[0]?.label === "New");
  late[0]();
  pick.type("newer");
  await until("the third question", () => daemon.requests.some((request) => request.params?.query === "newer"));
  assert.equal(pick.items[0].label, "New");
  assert.ok(daemon.requests.some((request) => request.method === "cancel"));
  pick.hide();
  assert.ok(pick.disposed);
  await end();
});

test("errors and a daemon that goes away are told, and the next search works", async () => {
  let turn = 0;
  const { end } = await searching((request, answer, socket) => {
    turn += 1;
    if (turn === 1) answer.error({ code: -32602, message: "no such condition", data: { kind: "invalid_params", hint: "write tag:" } });
    else if (turn === 2) socket.end('{"jsonrpc":"2.0","id":');
    else answer({ hits: [hit({})] });
  });
  pick.type("one");
  await until("the error", () => pick.items[0]?.label === "no such condition");
  assert.equal(pick.items[0].detail, "write tag:");
  pick.type("two");
  await until("the end", () => pick.items[0]?.label?.includes("ended the connection"));
  assert.match(pick.items[0].detail, /situated service install/);
  pick.accept(pick.items[0]); // asks again
  await until("the hit", () => pick.items[0]?.label === "A");
  await end();
  pick.type("three");
  await until("nobody", () => /not running|ended the connection/.test(pick.items[0]?.label ?? ""));
});

test("without a daemon it says how to start one", async () => {
  process.env.SITUATED_SOCKET = "/nowhere/at/all";
  const client = new Client({ binary: "situated", name: "test" });
  await assert.rejects(client.request("search", {}).answer, (failure) => failure instanceof Failure && /not running/.test(failure.message));
  delete process.env.SITUATED_SOCKET;
  const nobody = new Client({ binary: "/nowhere/situated", name: "test" });
  await assert.rejects(nobody.request("search", {}).answer, /does not say where the daemon is/);
});

test("a hit is opened at its line, whatever its note is called", async () => {
  const names = ["--help.md", "two words & 'quotes'.md", "new\nline.md", "Füße/ä.md"];
  const { daemon, end } = await searching((_, answer) => answer({ hits: names.map((name) => hit({ path: name })) }));
  pick.type("odd");
  await until("the hits", () => pick.items.length === names.length);
  const { items } = pick;
  for (const [at, name] of names.entries()) {
    opened.length = 0;
    pick.selectedItems = [];
    if (at === 0) pick.press(items[at]);
    else pick.accept(items[at]);
    await until("the note", () => opened.length === 1);
    assert.equal(opened[0].file, path.join(daemon.root, name));
    assert.deepEqual(opened[0].selection.place, [2, 0, 2, 0]);
    assert.equal(opened[0].viewColumn, at === 0 ? vscode.ViewColumn.Beside : undefined);
  }
  pick.accept({ hit: hit({ path: "../../etc/passwd" }) });
  await until("the refusal", () => warned.length === 1);
  await end();
});

test("what is no text is opened by what takes it, and what cannot be opened is said", async () => {
  const { daemon, end } = await searching((_, answer) => answer({ hits: [hit({ path: "Invoice.pdf" }), hit({ path: "gone.md" })] }));
  pick.type("odd");
  await until("the hits", () => pick.items.length === 2);
  const { items } = pick;
  const { openTextDocument } = vscode.workspace;
  vscode.workspace.openTextDocument = async () => {
    throw new Error("no such file");
  };
  warned.length = 0;
  vscode.commands.ran.length = 0;
  await pick.accept(items[0]);
  assert.deepEqual(vscode.commands.ran[0].slice(0, 2).map((part) => part.fsPath ?? part), ["vscode.open", path.join(daemon.root, "Invoice.pdf")]);
  await pick.accept(items[1]);
  assert.match(warned[0], /gone\.md cannot be opened: no such file/);
  vscode.workspace.openTextDocument = openTextDocument;
  await end();
});

test("a message that holds its hint is said once", () => {
  assert.equal(new Failure("vault `x` is not known; there are: a", "there are: a").hint, undefined);
  assert.equal(new Failure("no such condition", "write tag:").hint, "write tag:");
});

test("text of notes is neither an icon nor a control character", () => {
  assert.equal(label("$(trash) \u001b[31mred\u202e\nnext"), "$\u200b(trash) ?[31mred? next");
  assert.equal(plain("<b>bold</b>"), "<b>bold</b>");
});

test("the related notes follow the note at hand", async () => {
  const daemon = await serve((request, answer) => {
    const { path: note, line } = request.params;
    if (note.endsWith("outside.md")) return answer.error({ message: "not known", data: { kind: "not_found" } });
    if (line === 99) return answer.error({ message: "no such line", data: { kind: "invalid_params" } });
    answer({ hits: [hit({ title: `near ${path.basename(note)} ${line ?? "all"}` })] });
  });
  const client = new Client({ binary: "situated", name: "test" });
  const related = new Related(vscode, client, 5);
  const at = (name, line) => {
    const document = { uri: { scheme: "file", fsPath: path.join(daemon.root, name) }, languageId: "markdown" };
    vscode.window.activeTextEditor = { document, selection: { active: { line } } };
    return related.refresh();
  };
  const shown = () => related.getChildren().map((child) => related.getTreeItem(child).label);
  await at("a.md", 4);
  assert.deepEqual(shown(), ["near a.md 5"]);
  assert.equal(typeof related.getTreeItem(related.getChildren()[0]).tooltip, "string");
  await at("b.md", 98);
  assert.deepEqual(shown(), ["near b.md all"]);
  await at("outside.md", 1);
  assert.deepEqual(shown(), []);
  // However the note is reached, and whatever kind of text it is; files of no vault are not asked about.
  const link = path.join(path.dirname(daemon.root), "link");
  fs.symlinkSync(daemon.root, link);
  fs.writeFileSync(path.join(daemon.root, "list.txt"), "");
  await at("../link/list.txt", 4);
  assert.deepEqual(shown(), ["near list.txt 5"]);
  const before = daemon.requests.length;
  await at("../elsewhere.md", 4);
  assert.deepEqual([shown(), daemon.requests.length], [[], before]);
  vscode.window.activeTextEditor = undefined;
  await related.refresh();
  assert.deepEqual(shown(), []);
  await daemon.stop();
  await at("a.md", 4);
  assert.match(shown()[0], /ended the connection|not running/);
  related.dispose();
  client.close();
});

const real = process.env.SITUATED_TEST_SOCKET;
test("with a real daemon", { skip: real ? false : "no daemon is named" }, async () => {
  process.env.SITUATED_SOCKET = real;
  const context = { subscriptions: [] };
  const [note, line] = process.env.SITUATED_TEST_EXPECT.split(":");
  const file = path.join(process.env.SITUATED_TEST_VAULT, note);
  const document = { uri: { scheme: "file", fsPath: file }, languageId: "markdown" };
  vscode.window.activeTextEditor = { document, selection: { active: { line: Number(line) - 1 } } };
  await extension.activate(context);
  const related = context.subscriptions[0];
  assert.ok(related.getChildren().length > 0 && !related.getChildren()[0].words, JSON.stringify(related.getChildren()));
  vscode.commands.registered["situated.search"]();
  pick.type(process.env.SITUATED_TEST_QUERY);
  await until("the hits", () => pick.items.length > 0);
  opened.length = 0;
  pick.accept(pick.items[0]);
  await until("the note", () => opened.length === 1);
  assert.equal(opened[0].file, file);
  assert.equal(opened[0].selection.place[0], Number(line) - 1);
  related.dispose();
  extension.deactivate();
});
