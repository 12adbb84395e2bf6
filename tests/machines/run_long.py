"""Long runs of the machines, without hypothesis: so many steps, in so many processes.

    python tests/machines/run_long.py --steps 1000000 --seed 1 --processes 2

Each machine is made and driven by numbers of one stream, which the seed and the machine's place
begin. A finding is shrunk, printed as what reproduces it, and the run goes on. What a finding
prints is run by ``--replay``.
"""

import argparse
import ast
import collections
import multiprocessing
import os
import random
import sys
import time
import traceback

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from machines import core, every  # noqa: E402,F401

LENGTH = 50  # steps of one machine, at the most


def one_machine(name, seed, notes):
    """Runs a machine; its steps, and what it found: (steps, text) or None."""
    r = random.Random(f"{name} {seed}")
    number, rules = r.randrange(2**32), core.weights_of(name)
    names, weights = list(rules), list(rules.values())
    steps = []
    try:
        machine = core.build(name, number)
        for _ in range(r.randrange(1, 2 * LENGTH)):
            steps.append((r.choices(names, weights)[0], r.randrange(2**32)))
            begin = time.perf_counter()
            machine.step(*steps[-1])
            notes[steps[-1][0]] += 1
            notes[name] += time.perf_counter() - begin
    except Exception as error:
        where = traceback.format_exc(limit=-3)
        kind = "" if isinstance(error, core.Finding) else f"{type(error).__name__}: "
        return steps, (number, steps, f"{kind}{error}", where)
    return steps, None


def names_in_turn(names, r):
    while True:
        yield r.choices(names, [core.MACHINES[name].share(name) for name in names])[0]


def worker(names, seed, process, wanted, queue):
    r = random.Random(f"{seed} {process}")
    notes, done, machines, sent = collections.Counter(), 0, 0, time.monotonic()
    seen = collections.Counter()
    for name in names_in_turn(names, r):
        steps, found = one_machine(name, r.randrange(2**48), notes)
        done, machines = done + len(steps), machines + 1
        if found is not None:
            number, steps, text, where = found
            kind = name, core.kind_of(text)
            seen[kind] += 1
            if seen[kind] <= 3:
                steps, again = core.shrunk(name, number, steps)
                queue.put(("finding", (name, number, steps, again or text, where)))
            else:
                queue.put(("again", kind))
        if time.monotonic() > sent + 5.0 or done >= wanted:
            queue.put(("steps", (process, done, machines, dict(notes))))
            sent = time.monotonic()
        if done >= wanted:
            break
    queue.put(("end", process))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="classes (all of them)")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--replay", help="what a finding printed: (name, number, steps)")
    given = parser.parse_args()
    if given.replay:
        return replayed(*ast.literal_eval(given.replay))
    names = given.names or list(core.MACHINES)
    queue, begin = multiprocessing.Queue(), time.monotonic()
    workers = [multiprocessing.Process(target=worker, args=(
        names, given.seed, i, -(-given.steps // given.processes), queue))
        for i in range(given.processes)]
    for one in workers:
        one.start()
    done, machines, notes, found, left = {}, {}, {}, collections.Counter(), len(workers)
    shown = 0.0
    while left:
        try:
            what, news = queue.get(timeout=30.0)
        except Exception:
            if not any(one.is_alive() for one in workers):
                print("a process died", flush=True)
                return 1
            continue
        if what == "finding":
            name, number, steps, text, where = news
            found[name, core.kind_of(text)] += 1
            print(f"--- finding: {name}, {text[:1500]}\n(\"{name}\", {number}, {steps})\n"
                  f"{where if 'Finding' not in where else ''}", flush=True)
        elif what == "again":
            found[news] += 1
        elif what == "steps":
            process, done[process], machines[process], notes[process] = news
            if time.monotonic() > shown + 20.0:
                shown = time.monotonic()
                print(f"{sum(done.values())} steps, {sum(machines.values())} machines, "
                      f"{sum(done.values()) / (shown - begin):.0f} steps/s, "
                      f"{sum(found.values())} findings", flush=True)
        else:
            left -= 1
    seconds = time.monotonic() - begin
    total = collections.Counter()
    for one in notes.values():
        total.update(one)
    print("seconds a class:", {k: round(v, 1) for k, v in total.most_common() if "rule_" not in k})
    print("steps a rule:", {k: v for k, v in total.most_common() if "rule_" in k})
    print(f"{sum(done.values())} steps of {sum(machines.values())} machines over {len(names)} "
          f"classes in {seconds:.0f} s ({sum(done.values()) / seconds:.0f} steps/s), seed "
          f"{given.seed}: {sum(found.values())} findings")
    for (name, kind), times in found.most_common():
        print(f"  {times} x {name}: {kind}")
    return 1 if found else 0


def replayed(name, number, steps):
    machine = core.build(name, number)
    print(core.described(machine.learner))
    for step in steps:
        print(step, flush=True)
        machine.step(*step)
    print("no finding")
    return 0


if __name__ == "__main__":
    sys.exit(main())
