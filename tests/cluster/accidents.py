"""Things that go wrong in the middle of a job. What is left of each is a file, so that tests can tell that it came."""

import os
import time
from pathlib import Path


class Runs:
    """Counts how often each part has begun: run 0, 1, … of a part, across processes."""

    def __init__(self, folder):
        self.folder = str(folder)
        os.makedirs(self.folder, exist_ok=True)

    def begin(self, part):
        """The number of this run."""
        run = 0
        while True:
            try:
                with open(f"{self.folder}/run.{part}.{run}", "x") as file:
                    file.write(str(os.getpid()))
                return run
            except FileExistsError:
                run += 1

    def mark(self, word, part, run):
        """Leave a file with the process's number: whole or not at all."""
        path = f"{self.folder}/{word}.{part}.{run}"
        Path(path + ".part").write_text(str(os.getpid()))
        os.replace(path + ".part", path)

    def marked(self, word):
        """The marks of this word: part, run and process of each."""
        found = []
        for path in Path(self.folder).glob(f"{word}.*"):
            if path.suffix != ".part":
                _, part, run = path.name.split(".")
                found.append((int(part), int(run), int(path.read_text())))
        return sorted(found)


def breaks(runs):
    """Every second run of a part, beginning with the first, fails when some of its rows have been worked on."""

    def before(part, rows):
        run = runs.begin(part)
        yield next(rows)
        if run % 2 == 0:
            runs.mark("broke", part, run)
            raise RuntimeError(f"part {part} breaks in run {run}, as it should")
        yield from rows

    return before


def lingers(runs, part, at, seconds):
    """One run of one part, number ``at``, takes long when some of its rows have been worked on."""

    def before(which, rows):
        run = runs.begin(which)
        for number, batch in enumerate(rows):
            yield batch
            if number == 0 and (which, run) == (part, at):
                runs.mark("lingers", which, run)
                time.sleep(seconds)

    return before
