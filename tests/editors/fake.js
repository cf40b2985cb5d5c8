// situated editor plugin: a daemon for the tests of plugins in JavaScript.
"use strict";

const fs = require("node:fs");
const net = require("node:net");
const os = require("node:os");
const path = require("node:path");
const { after } = require("node:test");

// A test that fails leaves its daemon behind: it must not keep the others waiting.
const running = new Set();
after(() => Promise.all([...running].map((stop) => stop())));

const PATIENCE_MS = 30000;

// Resolves when `condition` holds; fails after half a minute.
async function until(what, condition) {
  const end = Date.now() + PATIENCE_MS;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

// A daemon that serves one vault, `notes`. `handle(request, answer, socket)` is asked for all but `hello`.
async function serve(handle) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "situated-js-"));
  const root = path.join(dir, "notes");
  fs.mkdirSync(root);
  const requests = [];
  const sockets = new Set();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    let rest = "";
    socket.on("data", (piece) => {
      const lines = (rest + piece).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        const request = JSON.parse(line);
        requests.push(request);
        const answer = (result) => socket.write(JSON.stringify({ jsonrpc: "2.0", id: request.id, result }) + "\n");
        answer.error = (error) => socket.write(JSON.stringify({ jsonrpc: "2.0", id: request.id, error }) + "\n");
        if (request.method === "hello") answer({ vaults: [{ name: "notes", path: root, default: true }] });
        else if (request.method !== "cancel") handle(request, answer, socket);
      }
    });
  });
  const socket = path.join(dir, "s");
  await new Promise((resolve) => server.listen(socket, resolve));
  process.env.SITUATED_SOCKET = socket;
  const stop = () => {
    running.delete(stop);
    for (const open of sockets) open.destroy();
    return new Promise((resolve) => server.close(() => resolve(fs.rmSync(dir, { recursive: true, force: true }))));
  };
  running.add(stop);
  return { root, requests, socket, stop };
}

// Writes a line in pieces of 64 bytes, each by itself.
async function inPieces(socket, line) {
  const bytes = Buffer.from(line + "\n");
  socket.setNoDelay?.(true);
  for (let at = 0; at < bytes.length; at += 64) {
    if (!socket.write(bytes.subarray(at, at + 64))) await new Promise((resolve) => socket.once("drain", resolve));
    if (at % 6400 === 0) await new Promise(setImmediate);
  }
}

function hit(given) {
  return { vault: "notes", path: "a.md", title: "A", heading_path: [], match_line: 3, snippet: "words", ...given };
}

module.exports = { hit, inPieces, serve, until };
