// situated editor plugin: a connection to the daemon, and requests over it. The plugin for Obsidian, which is one file,
// begins with it.
"use strict";

const childProcess = require("node:child_process");
const fs = require("node:fs");
const net = require("node:net");
const nodePath = require("node:path");

const START = "Start it with `situated run VAULT`, or for good with `situated service install`.";

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

module.exports = { Client, Failure, Lines, lineOf, plain, titleOf };
