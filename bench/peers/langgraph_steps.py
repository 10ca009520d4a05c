"""The peer of plans: chains of nodes that do nothing, each step on disk before the next (LangGraph, SqliteSaver).

    langgraph_steps.py FOLDER alone STEPS      one chain
    langgraph_steps.py FOLDER WAY PLANS STEPS  many chains at once, in one of these ways:

        threads    a thread for each chain, one file for all of them
        files      a thread for each chain, a file for each
        processes  a process for each chain, a file for each
        cores      a process for each core, which has a file and runs its share of the chains in turn

Prints one line of JSON: how many steps, the seconds they took and the CPU seconds of all processes. Files are as the
library makes them (WAL, which SQLite syncs at every commit) and stay in FOLDER. What is not the steps themselves, such
as imports, new files and new processes, is done before the clock starts.
"""

import json
import multiprocessing
import os
import sqlite3
import sys
import threading
import time
from pathlib import Path
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

FULL = 2
LONGEST_WAIT = 600


class State(TypedDict):
    result: str


def work(_: State) -> State:
    return {"result": "done"}


def open_file(path: Path) -> SqliteSaver:
    saver = SqliteSaver(sqlite3.connect(path, check_same_thread=False, timeout=LONGEST_WAIT))
    saver.setup()
    # What the library leaves to SQLite's own default, and what makes a step durable.
    synchronous = saver.conn.execute("pragma synchronous").fetchone()[0]
    assert synchronous == FULL, f"commits are not synced: {synchronous}"
    return saver


class Chain:
    """A compiled chain on a file; the compiling is not measured."""

    def __init__(self, steps: int, saver: SqliteSaver) -> None:
        names = [f"t{number}" for number in range(steps)]
        graph = StateGraph(State)
        for name in names:
            graph.add_node(name, work)
        for before, after in zip([START, *names], [*names, END]):
            graph.add_edge(before, after)
        self.graph = graph.compile(checkpointer=saver)
        self.saver = saver
        self.steps = steps

    def run(self, name: str) -> None:
        config = {"configurable": {"thread_id": name}, "recursion_limit": self.steps + 5}
        self.graph.invoke({"result": ""}, config, durability="sync")

    def check(self, name: str) -> None:
        """Every step is in the file."""
        count = "select count(*) from checkpoints where thread_id = ?"
        (kept,) = self.saver.conn.execute(count, (name,)).fetchone()
        assert kept > self.steps, f"{kept} checkpoints of {self.steps} steps"


def warm_up(folder: Path) -> None:
    Chain(3, open_file(folder / "warm-up.db")).run("warm-up")


def alone(folder: Path, steps: int) -> tuple[float, float]:
    warm_up(folder)
    chain = Chain(steps, open_file(folder / "alone.db"))
    begin, used = time.perf_counter(), time.process_time()
    chain.run("alone")
    took = time.perf_counter() - begin, time.process_time() - used
    chain.check("alone")
    return took


def threads(folder: Path, plans: int, steps: int, *, own_files: bool) -> tuple[float, float]:
    warm_up(folder)
    savers = [open_file(folder / f"{number}.db") for number in range(plans if own_files else 1)]
    chains = [Chain(steps, savers[number % len(savers)]) for number in range(plans)]
    gate = threading.Barrier(plans + 1)

    def one(number: int) -> None:
        gate.wait()
        chains[number].run(str(number))

    workers = [threading.Thread(target=one, args=(number,)) for number in range(plans)]
    for worker in workers:
        worker.start()
    gate.wait()
    begin, used = time.perf_counter(), time.process_time()
    for worker in workers:
        worker.join()
    took = time.perf_counter() - begin, time.process_time() - used
    for number, chain in enumerate(chains):
        chain.check(str(number))
    return took


def processes(folder: Path, plans: int, steps: int, *, workers: int) -> tuple[float, float]:
    fork = multiprocessing.get_context("fork")
    gate, told = fork.Barrier(workers + 1), fork.SimpleQueue()

    def one(worker: int) -> None:
        own = folder / str(worker)
        own.mkdir()
        warm_up(own)
        chain = Chain(steps, open_file(own / "plans.db"))
        mine = range(worker, plans, workers)
        gate.wait(LONGEST_WAIT)
        used = time.process_time()
        for number in mine:
            chain.run(str(number))
        # The clock is the same in all processes; that they end takes time that is not measured.
        told.put((time.perf_counter(), time.process_time() - used))
        for number in mine:
            chain.check(str(number))

    children = [fork.Process(target=one, args=(worker,)) for worker in range(workers)]
    for child in children:
        child.start()
    gate.wait(LONGEST_WAIT)
    begin = time.perf_counter()
    for child in children:
        child.join()
        assert child.exitcode == 0, f"a process ended with {child.exitcode}"
    ended, used = zip(*(told.get() for _ in children))
    return max(ended) - begin, sum(used)


def main() -> None:
    match sys.argv[1:]:
        case [folder, "alone", steps]:
            way, plans = "alone", "1"
        case [folder, "threads" | "files" | "processes" | "cores" as way, plans, steps]:
            pass
        case _:
            sys.exit(__doc__)
    folder, plans, steps = Path(folder), int(plans), int(steps)
    folder.mkdir(parents=True)
    match way:
        case "alone":
            took, used = alone(folder, steps)
        case "threads" | "files":
            took, used = threads(folder, plans, steps, own_files=way == "files")
        case "processes" | "cores":
            cores = len(os.sched_getaffinity(0))
            took, used = processes(folder, plans, steps, workers=plans if way == "processes" else cores)
    print(json.dumps({"steps": plans * steps, "seconds": took, "cpu_seconds": used}))


if __name__ == "__main__":
    main()
