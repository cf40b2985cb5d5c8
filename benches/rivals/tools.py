"""The tools that rivals.py measures, and how each is driven. As a program it is one of the libraries, as a child."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Optional

LIMIT_S = 120  # for any one answer, command or wait; a tool that needs more is not measured
POLL_S = 0.002  # short beside any tool's delay, and leaves the processor to the tool that works
HITS = 10


class NotMeasured(Exception):
    """Why a tool has no row in the table."""


class Tool:
    """A program that searches a vault: its name, its program, and what carries a query to it."""

    name, program, asked_over = "", "", ""
    tell_version = ["--version"]

    def __init__(self, command: list[str], vault: Path, home: Path) -> None:
        self.command, self.vault, self.home = command, vault, home
        self.server: Optional[subprocess.Popen[bytes]] = None
        self.requests = 0
        # Nobody's own configuration, index or models take part.
        others = ("SITUATED_", "OBSIDIAN_", "QMD_", "CK_", "RIPGREP_", "XDG_")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(others)} | {"HOME": str(home)}
        self.env |= {f"XDG_{kind}_HOME": str(home / kind) for kind in ("CONFIG", "CACHE", "DATA", "STATE")}

    def index(self, query: str) -> None:
        """Makes the first index: afterwards `query` has been answered from the whole vault."""
        self.search(query)

    def search(self, query: str) -> Any:
        """The answer. It names the notes that it found."""
        raise NotImplementedError

    def update(self, note: Path) -> None:
        """Tells of a saved note, where the tool neither watches nor looks for changes when it is asked."""

    def start(self, *args: str, **files: Any) -> subprocess.Popen[bytes]:
        """Starts the tool in a group of its own, so that what it starts ends with it."""
        with (self.home / "log").open("ab") as log:
            return subprocess.Popen([*self.command, *args], stderr=log, env=self.env, cwd=self.vault,
                                    start_new_session=True, **files)

    def serve(self, *args: str) -> None:
        """Starts a server over its standard streams. These are a socket, for a socket has a time limit."""
        ours, theirs = socket.socketpair()
        with theirs:
            self.server = self.start(*args, stdin=theirs, stdout=theirs)
        self.talk(ours)

    def talk(self, stream: socket.socket) -> None:
        with stream:  # its file keeps it open
            stream.settimeout(LIMIT_S)
            self.lines = stream.makefile("rwb")

    def send(self, **message: Any) -> None:
        self.lines.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.lines.flush()

    def call(self, method: str, **params: Any) -> Any:
        self.requests += 1
        self.send(id=self.requests, method=method, params=params)
        while line := self.lines.readline():
            answer = json.loads(line)
            if answer.get("id") != self.requests or "method" in answer:
                continue  # a server may notify, or ask something itself
            if "error" in answer or answer["result"].get("isError"):
                raise NotMeasured(f"`{method}` fails: {line[:200].decode(errors='replace')}")
            return answer["result"]
        raise NotMeasured(f"it ended during `{method}`")

    def run(self, *args: str) -> str:
        """Runs a command to its end. The exit code 1 is how grep says that it found nothing."""
        with tempfile.TemporaryFile() as output:
            child = self.start(*args, stdin=subprocess.DEVNULL, stdout=output)
            try:
                code = child.wait(LIMIT_S)
            finally:
                end(child)
            if code not in (0, 1):
                raise NotMeasured(f"`{shlex.join([*self.command, *args])}` ends with {code}")
            output.seek(0)
            return output.read().decode(errors="replace")


class Situated(Tool):
    name, program, asked_over, mode = "situated, words and meaning", "situated", "its socket", "hybrid"

    def index(self, query: str) -> None:
        path, null = str(self.home / "s"), subprocess.DEVNULL
        self.server = self.start("--data-dir", str(self.home / "index"), "--socket", path, "run", str(self.vault),
                                 stdin=null, stdout=null)
        stream = socket.socket(socket.AF_UNIX)
        until(lambda: stream.connect_ex(path) == 0, self.server)
        self.talk(stream)
        until(self.idle, self.server)
        until(lambda: ".md" in str(self.search(query)), self.server)

    def idle(self) -> bool:
        status = self.call("status")
        at_rest = all(vault["notes"] and not vault["pending"] for vault in status["vaults"])
        return status["state"] in ("idle", "degraded") and at_rest

    def search(self, query: str) -> Any:
        return self.call("search", query=query, limit=HITS, mode=self.mode)


class SituatedWords(Situated):
    name, mode = "situated, words alone", "lexical"


class Mcp(Tool):
    """A warm session with an MCP server."""

    asked_over, tool = "MCP over stdio, warm", ""

    def greet(self, query: str) -> None:
        client = {"name": "rivals", "version": "1"}
        self.call("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self.send(method="notifications/initialized")
        self.search(query)

    def ask(self, **arguments: Any) -> Any:
        return self.call("tools/call", name=self.tool, arguments=arguments)


class ObsidianMcp(Mcp):
    name, program, tool = "obsidian-mcp", "obsidian-mcp", "search_text"

    def index(self, query: str) -> None:
        # `local` without embeddings is words alone; otherwise it looks for a daemon to download and to leave running.
        self.env |= {"OBSIDIAN_MCP_DATA": str(self.home / "index"), "OBSIDIAN_SEMANTIC_MODE": "local"}
        self.serve(str(self.vault))
        self.greet(query)  # answered when its index is made

    def search(self, query: str) -> Any:
        return self.ask(query=query, max_results=HITS)


class Ck(Mcp):
    """Its first search makes the index, and every further one looks for changed files."""

    name, program, tool = "ck", "ck", "lexical_search"

    def index(self, query: str) -> None:
        self.serve("--serve")
        self.greet(query)

    def search(self, query: str) -> Any:
        return self.ask(query=query, path=str(self.vault), top_k=HITS)


class Qmd(Mcp):
    name, program, tool = "qmd", "qmd", "query"

    def index(self, query: str) -> None:
        self.run("collection", "add", str(self.vault), "--name", "notes")
        self.serve("mcp")
        self.greet(query)

    def update(self, note: Path) -> None:
        self.run("update")

    def search(self, query: str) -> Any:
        return self.ask(searches=[{"type": "lex", "query": query}], rerank=False, limit=HITS)


class Ripgrep(Tool):
    """The words as they stand together, for that is what it is asked for; it has no index and ranks nothing."""

    name, program, asked_over = "ripgrep", "rg", "a call each"

    def search(self, query: str) -> Any:
        return self.run("-l", "-i", "-F", "-e", query, str(self.vault))


class Library(Tool):
    """A library in a Python process that is not this one, so that its memory and its time are told apart."""

    program, asked_over, engine = sys.executable, "Python, warm", ""

    def index(self, query: str) -> None:
        self.serve(str(Path(__file__).resolve()), self.engine, str(self.vault))
        self.search(query)

    def update(self, note: Path) -> None:
        self.call("update", note=str(note))

    def search(self, query: str) -> Any:
        return self.call("search", query=query)


class Tantivy(Library):
    name, engine, tell_version = "tantivy alone", "tantivy", ["-c", "import tantivy; print(tantivy.__version__)"]


class Fts5(Library):
    name, engine, tell_version = "SQLite FTS5 alone", "fts5", ["-c", "import sqlite3; print(sqlite3.sqlite_version)"]


class TantivyEngine:
    def __init__(self, folder: Path) -> None:
        import tantivy  # only the interpreter that --rival names has to have it

        schema = tantivy.SchemaBuilder()
        schema.add_text_field("path", stored=True, tokenizer_name="raw")
        schema.add_text_field("text", stored=True)
        self.document, self.index = tantivy.Document, tantivy.Index(schema.build(), path=str(folder))
        self.writer = self.index.writer()

    def add(self, notes: list[Path]) -> None:
        for note in notes:
            self.writer.add_document(self.document(path=str(note), text=note.read_text(errors="replace")))
        self.writer.commit()
        self.index.reload()

    def search(self, query: str) -> list[str]:
        searcher = self.index.searcher()
        hits = searcher.search(self.index.parse_query(query, ["text"]), HITS).hits
        return [searcher.doc(address)["path"][0] for _, address in hits]


class Fts5Engine:
    def __init__(self, folder: Path) -> None:
        self.index = sqlite3.connect(folder / "notes")
        self.index.execute("CREATE VIRTUAL TABLE notes USING fts5(path UNINDEXED, text, tokenize = 'porter unicode61')")

    def add(self, notes: list[Path]) -> None:
        with self.index:
            rows = ((str(note), note.read_text(errors="replace")) for note in notes)
            self.index.executemany("INSERT INTO notes VALUES (?, ?)", rows)

    def search(self, query: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in query.split())
        found = "SELECT path FROM notes WHERE notes MATCH ? ORDER BY rank LIMIT ?"
        return [path for (path,) in self.index.execute(found, (words, HITS))]


def serve_engine(name: str, vault: Path) -> None:
    """What the child process of a library does."""
    folder = Path(os.environ["HOME"], "index")
    folder.mkdir()
    engine = TantivyEngine(folder) if name == "tantivy" else Fts5Engine(folder)
    engine.add(notes_of(vault))
    for line in sys.stdin:
        request = json.loads(line)
        result: dict[str, list[str]] = {}
        if request["method"] == "update":
            engine.add([Path(request["params"]["note"])])
        else:
            result["hits"] = engine.search(request["params"]["query"])
        print(json.dumps({"id": request["id"], "result": result}), flush=True)


def end(child: subprocess.Popen[bytes]) -> None:
    """Ends a child and what it started, and waits for it."""
    for way in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, way)
            child.wait(10)
        except ProcessLookupError:
            break  # nothing of the group is left
        except subprocess.TimeoutExpired:
            continue


def until(ready: Callable[[], bool], server: Optional[subprocess.Popen[bytes]]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not ready():
        if server and server.poll() is not None:
            raise NotMeasured(f"it ended with {server.returncode}")
        if time.monotonic() > deadline:
            raise NotMeasured(f"it was not ready within {LIMIT_S} s")
        time.sleep(POLL_S)


def notes_of(vault: Path) -> list[Path]:
    return sorted(vault.rglob("*.md"))


TOOLS: dict[str, type[Tool]] = {
    "situated": Situated, "situated-words": SituatedWords, "tantivy": Tantivy, "fts5": Fts5, "ripgrep": Ripgrep,
    "obsidian-mcp": ObsidianMcp, "ck": Ck, "qmd": Qmd,
}

if __name__ == "__main__":
    serve_engine(sys.argv[1], Path(sys.argv[2]))
