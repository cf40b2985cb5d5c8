// situated editor plugin: search while typing, in VS Code's own list.
"use strict";

const path = require("node:path");
const { lineOf, plain, titleOf } = require("./client.js");

const DEBOUNCE_MS = 30;

// Notes that are no text.
const DOCUMENTS = /\.(pdf|docx|epub)$/i;

// In labels VS Code shows `$(name)` as an icon: text of notes is no place for one.
function label(text) {
  return plain(text).replaceAll("$(", "$\u200b(");
}

// Where a hit is on the disk; undefined for a path that leaves its vault.
function fileOf(hit, roots) {
  const root = roots.get(hit.vault);
  if (!root) return undefined;
  const file = path.resolve(root, hit.path);
  return file.startsWith(path.resolve(root) + path.sep) ? file : undefined;
}

async function openHit(vscode, client, hit, beside) {
  const file = fileOf(hit, client.roots);
  if (!file) return vscode.window.showWarningMessage("Where this note lies is not known.");
  const line = lineOf(hit) - 1;
  const place = { preview: !beside };
  if (beside) place.viewColumn = vscode.ViewColumn.Beside;
  const uri = vscode.Uri.file(file);
  try {
    // No editor of text takes these; VS Code knows what does.
    if (DOCUMENTS.test(file)) return await vscode.commands.executeCommand("vscode.open", uri, place);
    const document = await vscode.workspace.openTextDocument(uri);
    return await vscode.window.showTextDocument(document, { ...place, selection: new vscode.Range(line, 0, line, 0) });
  } catch (failure) {
    return vscode.window.showWarningMessage(plain(`${hit.path} cannot be opened: ${failure.message}`));
  }
}

// Shows the list; ends with it.
function search(vscode, client, limit) {
  const pick = vscode.window.createQuickPick();
  const beside = { iconPath: new vscode.ThemeIcon("split-horizontal"), tooltip: "Open to the side" };
  let turn = 0;
  let request = null;
  let timer = null;

  pick.placeholder = "Search your notes: words, a question, tag:work, after:2026-01";
  // The daemon's order is the order: VS Code must neither filter nor sort.
  pick.sortByLabel = false;
  const item = (hit) => ({
    label: label(titleOf(hit)),
    description: label(`${hit.path}:${lineOf(hit)}`),
    detail: label(hit.snippet),
    alwaysShow: true,
    buttons: [beside],
    hit,
  });
  const tell = (words, hint) => {
    pick.items = [{ label: label(words), detail: label(hint), alwaysShow: true }];
  };

  function ask(query) {
    const mine = ++turn;
    request?.cancel();
    request = null;
    if (!query.trim()) {
      pick.busy = false;
      pick.items = [];
      return;
    }
    pick.busy = true;
    request = client.request("search", { query, prefix: true, limit });
    request.answer.then(
      (answer) => {
        if (mine !== turn || !answer) return;
        pick.busy = false;
        pick.items = answer.hits.map(item);
        if (!answer.hits.length) tell("Nothing found", answer.warnings?.[0]);
      },
      (failure) => {
        if (mine !== turn) return;
        pick.busy = false;
        tell(failure.message, failure.hint);
      },
    );
  }

  pick.onDidChangeValue((query) => {
    clearTimeout(timer);
    timer = setTimeout(ask, DEBOUNCE_MS, query);
  });
  const accept = (chosen, toTheSide) => {
    // What tells of an error is no note: asked again.
    if (!chosen?.hit) return ask(pick.value);
    pick.hide();
    return openHit(vscode, client, chosen.hit, toTheSide);
  };
  pick.onDidAccept(() => accept(pick.selectedItems[0], false));
  pick.onDidTriggerItemButton(({ item }) => accept(item, true));
  pick.onDidHide(() => {
    turn++;
    clearTimeout(timer);
    request?.cancel();
    pick.dispose();
  });
  pick.show();
  return pick;
}

module.exports = { fileOf, label, openHit, search };
