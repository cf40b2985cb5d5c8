#!/usr/bin/env python3
"""Measures what a user would pick instead of situated, side by side in one run.

    benches/rivals/rivals.py --situated target/release/situated --vault DIR [--repeat 3] [--rival NAME=COMMAND...]

It needs Linux and Python 3.10, and takes each rival that is there; one that is not is named below the table. NAME is
one of these, COMMAND how it is called where that is not the program on the PATH:

    tantivy       pip install tantivy                           --rival tantivy=VENV/bin/python
    fts5          nothing: it is part of Python's sqlite3
    ripgrep       apt-get install ripgrep
    obsidian-mcp  cargo install --locked obsidian-mcp --version 3.2.1
    ck            cargo install --locked ck-search --version 0.8.1 --no-default-features
    qmd           npm install @tobilu/qmd@2.8.3, for Node 22    --rival "qmd=node node_modules/.bin/qmd"

Every tool works on its own copy of the vault, in a temporary folder that is its home too, for some write into vaults.
Only words are asked of the rivals: none loads a model. The first index lasts from the tool's start to its first answer
from the whole vault; a save, with the update where the tool has to be told, until the tool's own search names the note;
memory is that of all the tool's processes afterwards. The libraries answer with paths alone, the others with passages
too. One Markdown table goes to the standard output, progress to the standard error.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Optional

from tools import TOOLS, NotMeasured, Ripgrep, Tool, end, notes_of, until

QUERIES, WARM_UP, SAVES = 100, 20, 10
UNITS = {"first index": "s", "its processor time": "s", "query p50": "ms", "query p99": "ms",
         "save → searchable p50": "ms", "resident memory": "MB", "of that no file's": "MB", "answered": ""}
Figures = dict[str, Optional[float]]  # what UNITS names; None is what a tool does not have
Passes = dict[str, list[Figures]]


def version_of(tool: Tool) -> str:
    said = tool.run(*tool.tell_version)
    number = re.search(r"\d+(\.\d+)+", said)
    if not number:
        raise NotMeasured(f"`{shlex.join(tool.command)}` does not tell its version")
    return number[0]


def processes(tool: Tool) -> list[Path]:
    """The folders in /proc of the server and of all below it."""
    below: dict[str, list[str]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            below.setdefault(stat.read_text().rsplit(")", 1)[1].split()[1], []).append(stat.parent.name)
        except OSError:
            continue  # it ended meanwhile
    found = [str(tool.server.pid)] if tool.server else []
    for pid in found:
        found += below.get(pid, [])
    return [Path("/proc", pid) for pid in found]


def cpu_s(tool: Tool) -> float:
    """Processor time of all commands that ended, and of the server with what it waited for."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    stats = [(folder / "stat").read_text().rsplit(")", 1)[1].split() for folder in processes(tool)]
    ticks = sum(int(field) for stat in stats for field in stat[11:15])
    return ended.ru_utime + ended.ru_stime + ticks / os.sysconf("SC_CLK_TCK")


def memory_mb(tool: Tool, field: str) -> Optional[float]:
    lines = [line for folder in processes(tool) for line in (folder / "status").read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith(f"{field}:")) / 1024 if lines else None


def draw_queries(notes: list[Path], rng: random.Random) -> list[str]:
    """Two to five words that stand together in a note, so that an exact search finds them too."""
    texts = (note.read_text(errors="replace") for note in rng.choices(notes, k=20 * (WARM_UP + QUERIES)))
    runs = (re.findall(r"\b[A-Za-z]{3,}(?: [A-Za-z]{3,}){4,}\b", text) for text in texts)
    queries = []
    for words in (rng.choice(run).lower().split() for run in runs if run):
        at = rng.randrange(len(words) - 4)
        queries.append(" ".join(words[at : at + rng.randint(2, 5)]))
        if len(queries) == WARM_UP + QUERIES:
            return queries
    sys.exit("the vault has too little English text to draw queries from")


def timed_ms(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return (time.perf_counter() - start) * 1e3, result


def save(tool: Tool, note: Path, rng: random.Random) -> None:
    """Saves a note and returns when a search for its only word names it."""
    word = "".join(rng.choices("bcdfghjklmnpqrstvwxz", k=12))
    note.write_text(f"# A saved note\n\nThe word is {word}.\n")
    tool.update(note)
    until(lambda: note.name in str(tool.search(word)), tool.server)


def measure(tool: Tool, queries: list[str]) -> Figures:
    try:
        before = cpu_s(tool)
        index_ms, _ = timed_ms(lambda: tool.index(queries[0]))
        index_cpu = cpu_s(tool) - before
        answers = [timed_ms(lambda: tool.search(query)) for query in queries][WARM_UP:]
        times = sorted(ms for ms, _ in answers)
        rng = random.Random(5)
        saves = [timed_ms(lambda: save(tool, tool.vault / f"saved-{n}.md", rng))[0] for n in range(SAVES)]
        indexes = not isinstance(tool, Ripgrep)
        figures = [index_ms / 1e3 if indexes else None, index_cpu if indexes else None, times[len(times) // 2],
                   times[len(times) * 99 // 100], statistics.median(saves), memory_mb(tool, "VmRSS"),
                   memory_mb(tool, "RssAnon"), float(sum(".md" in str(answer) for _, answer in answers))]
        return dict(zip(UNITS, figures, strict=True))
    finally:
        if tool.server:
            end(tool.server)


def cell(column: str, of: Figures, own: Figures) -> str:
    value, base = of[column], own[column]
    if value is None or not base:
        return "none"
    shown = f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} {UNITS[column]}"
    ratio = value / base
    return f"{shown} (×{ratio:.{0 if ratio >= 9.95 else 1 if ratio >= 0.995 else 2}f})" if of is not own else shown


def measure_all(vault: Path, commands: dict[str, list[str]], repeat: int) -> tuple[Passes, dict[str, str]]:
    """The passes over every tool, and what is said of it: its version, or why it was not measured."""
    queries = draw_queries(notes_of(vault), random.Random(3))
    passes: Passes = {name: [] for name in TOOLS}
    said: dict[str, str] = {}
    for turn in range(repeat):  # the tools in turns, so that a busy minute does not fall on one of them alone
        for name in list(passes):
            print(f"{turn + 1}/{repeat} {name}", file=sys.stderr, flush=True)
            with tempfile.TemporaryDirectory(prefix="rivals-") as folder:
                home = Path(folder, "home")
                home.mkdir()
                tool = TOOLS[name](commands[name], Path(shutil.copytree(vault, Path(folder, "notes"))), home)
                try:
                    said[name] = version_of(tool)
                    passes[name].append(measure(tool, queries))
                except (NotMeasured, OSError, KeyError, ValueError, subprocess.SubprocessError) as why:
                    said[name] = str(why)
                    del passes[name]
    return passes, said


def print_table(passes: Passes, said: dict[str, str]) -> None:
    medians: dict[str, Figures] = {}
    for name, figures in passes.items():
        columns = {c: [value for one in figures if (value := one[c]) is not None] for c in UNITS}
        medians[name] = {c: statistics.median(values) if values else None for c, values in columns.items()}
    print(f"| tool | asked over | {' | '.join(UNITS)} |\n|{'---|' * (len(UNITS) + 2)}")
    for name, of in medians.items():
        cells = [cell(c, of, medians["situated"]) for c in list(UNITS)[:-1]] + [f"{of['answered']:.0f} of {QUERIES}"]
        print(f"| {TOOLS[name].name} {said[name]} | {TOOLS[name].asked_over} | {' | '.join(cells)} |")
    for name in (name for name in TOOLS if name not in passes):
        print(f"\n{TOOLS[name].name} was not measured: {said[name]}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures what a user would pick instead, side by side.")
    parser.add_argument("--situated", default="target/release/situated", help="the release binary")
    parser.add_argument("--vault", type=Path, required=True, help="a folder of notes; it is copied, never written")
    parser.add_argument("--rival", action="append", default=[], metavar="NAME=COMMAND", help="how a rival is called")
    parser.add_argument("--repeat", type=int, default=3, help="passes over every tool")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that every child is ended
    commands = {name: [kind.program] for name, kind in TOOLS.items()}
    commands["situated"] = commands["situated-words"] = [str(Path(args.situated).resolve())]
    for name, _, command in (rival.partition("=") for rival in args.rival):
        if name not in TOOLS or not command:
            parser.error(f"--rival takes NAME=COMMAND, NAME one of {', '.join(TOOLS)}")
        # The tools run in the vault: what is named by its path from here is named by its whole path.
        commands[name] = [os.path.abspath(part) if "/" in part else part for part in shlex.split(command)]
    vault = args.vault.resolve()
    passes, said = measure_all(vault, commands, args.repeat)
    if "situated" not in passes:
        sys.exit(f"situated was not measured: {said['situated']}")
    sizes = [note.stat().st_size for note in notes_of(vault)]
    print(f"{len(sizes):,} notes, {sum(sizes) / 1e6:.1f} MB, {os.cpu_count()} cores, medians of {args.repeat}; "
          "× is to situated.\n")
    print_table(passes, said)


if __name__ == "__main__":
    main()
