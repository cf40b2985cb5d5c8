// situated editor plugin: what VS Code starts, and what ends with it.
"use strict";

const vscode = require("vscode");
const { Client } = require("./client.js");
const { Related } = require("./related.js");
const { openHit, search } = require("./search.js");

let client = null;

function activate(context) {
  const settings = vscode.workspace.getConfiguration("situated");
  const limit = settings.get("limit", 20);
  client = new Client({ binary: settings.get("binary", "situated"), name: "situated-vscode" });
  const related = new Related(vscode, client, limit);
  context.subscriptions.push(
    related,
    vscode.window.registerTreeDataProvider("situated.related", related),
    vscode.commands.registerCommand("situated.search", () => search(vscode, client, limit)),
    vscode.commands.registerCommand("situated.related.refresh", () => related.refresh()),
    vscode.commands.registerCommand("situated.open", (hit) => openHit(vscode, client, hit, false)),
    vscode.window.onDidChangeActiveTextEditor(() => related.refresh()),
    vscode.window.onDidChangeTextEditorSelection(() => related.later()),
    vscode.workspace.onDidSaveTextDocument(() => related.later()),
  );
  return related.refresh();
}

function deactivate() {
  client?.close();
}

module.exports = { activate, deactivate };
