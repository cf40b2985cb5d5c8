// situated editor plugin: notes near the one that is edited, in the explorer.
"use strict";

const { lineOf, plain, titleOf } = require("./client.js");
const { label } = require("./search.js");

// While the cursor moves nothing is asked.
const REST_MS = 500;

// The daemon does not know the note, or the line is not yet indexed.
const UNKNOWN = ["not_found", "invalid_params"];

class Related {
  constructor(vscode, client, limit) {
    this.vscode = vscode;
    this.client = client;
    this.limit = limit;
    this.hits = [];
    this.turn = 0;
    this.changed = new vscode.EventEmitter();
    this.onDidChangeTreeData = this.changed.event;
  }

  getChildren(element) {
    return element ? [] : this.hits;
  }

  // Plain strings alone: a tooltip of Markdown could hold links that run commands.
  getTreeItem(hit) {
    if (hit.words) return { label: label(hit.words), tooltip: plain(hit.hint) };
    return {
      label: label(titleOf(hit)),
      description: label(`${hit.path}:${lineOf(hit)}`),
      tooltip: plain(hit.snippet),
      command: { command: "situated.open", title: "Open", arguments: [hit] },
    };
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(), REST_MS);
  }

  async refresh() {
    const mine = ++this.turn;
    clearTimeout(this.timer);
    this.request?.cancel();
    const hits = await this.ask();
    if (mine !== this.turn || !hits) return;
    this.hits = hits;
    this.changed.fire(undefined);
  }

  // The hits for the note at hand; undefined if another question has overtaken this one.
  async ask() {
    const editor = this.vscode.window.activeTextEditor;
    const document = editor?.document;
    if (!document || document.uri.scheme !== "file") return [];
    let note;
    try {
      await this.client.connect();
      const place = this.client.locate(document.uri.fsPath);
      // A file outside of all vaults has no related notes.
      if (!place) return [];
      note = { ...place, group: "note", limit: this.limit };
    } catch (failure) {
      return [{ words: failure.message, hint: failure.hint }];
    }
    try {
      return await this.hitsOf({ ...note, line: editor.selection.active.line + 1 });
    } catch (failure) {
      if (!UNKNOWN.includes(failure.kind)) return [{ words: failure.message, hint: failure.hint }];
    }
    try {
      return await this.hitsOf(note);
    } catch (failure) {
      return UNKNOWN.includes(failure.kind) ? [] : [{ words: failure.message, hint: failure.hint }];
    }
  }

  async hitsOf(params) {
    this.request = this.client.request("related", params);
    return (await this.request.answer)?.hits;
  }

  dispose() {
    this.turn++;
    clearTimeout(this.timer);
    this.request?.cancel();
  }
}

module.exports = { Related };
