"""Real engines on loopback: started when first asked for, stopped for sure, their logs in a folder."""

import atexit
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pandas as pd
import psutil
import pyarrow as pa

os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
os.environ["PYSPARK_PYTHON"] = sys.executable
JAVA = shutil.which("java")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_until(ready, what, seconds=120):
    """Wait for ``ready()`` to be true, and return what it gave."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := ready():
            return found
        time.sleep(0.05)
    raise TimeoutError(f"{what}: not within {seconds} s")


def answers(port):
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0


class Processes:
    """Processes of an engine, each with its children in a group of its own, and a log file each."""

    def __init__(self, folder):
        self.folder, self.running = Path(folder), {}
        self.folder.mkdir(parents=True, exist_ok=True)
        atexit.register(self.stop)

    def start(self, name, *command, **environment):
        with open(self.folder / f"{name}.log", "ab") as log:
            self.running[name] = subprocess.Popen(
                [str(part) for part in command],
                env=os.environ | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self.running[name]

    def stop(self):
        atexit.unregister(self.stop)
        for kind in (signal.SIGTERM, signal.SIGKILL):
            for process in self.running.values():
                with suppress(ProcessLookupError, subprocess.TimeoutExpired):
                    os.killpg(process.pid, kind)
                    process.wait(5)
        self.running = {}


class Standalone:
    """Classic Spark: a master and two workers with a core each, and what runs below each of them."""

    def __init__(self, folder):
        import pyspark

        self.folder = Path(folder)
        self.processes = Processes(folder)
        home = Path(pyspark.__file__).parent
        environment = {
            "SPARK_HOME": str(home),
            "SPARK_WORKER_DIR": str(self.folder / "work"),
            "SPARK_DAEMON_MEMORY": "128m",
        }
        port = free_port()
        self.address = f"spark://127.0.0.1:{port}"

        def start(name, kind, host, *arguments):
            command = home / "bin/spark-class", f"org.apache.spark.deploy.{kind}"
            places = "--host", host, "--webui-port", free_port()
            self.processes.start(name, *command, *places, *arguments, **environment, SPARK_LOCAL_IP=host)

        try:
            start("master", "master.Master", "127.0.0.1", "--port", port)
            wait_until(lambda: answers(port), "the master of Spark")
            for k in range(2):
                # Hosts of their own: a speculative copy of a task never runs on the host of the first.
                host = f"127.0.0.{k + 1}"
                start(f"worker-{k}", "worker.Worker", host, "--cores", 1, "--memory", "1200m", self.address)
        except BaseException:
            self.processes.stop()
            raise

    def session(self, **options):
        """A session whose two executors have a core each."""
        from pyspark.sql import SparkSession

        events = self.folder / "events"
        events.mkdir(exist_ok=True)
        options = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "512m",
            "spark.executor.cores": "1",
            "spark.executor.memory": "600m",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.dir": events.as_uri(),
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        } | options
        session = SparkSession.builder.master(self.address).config(map=options).getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        return session

    def workers(self):
        """The daemon of each worker."""
        return {
            name: psutil.Process(process.pid)
            for name, process in self.processes.running.items()
            if name.startswith("worker")
        }

    def events(self):
        """The log of all that the scheduler did, a line each."""
        return [line for file in (self.folder / "events").iterdir() for line in file.read_text().splitlines()]

    def stop(self):
        self.processes.stop()


class Sail:
    """A server of Sail, which runs the workers' functions inside it."""

    def __init__(self, folder):
        self.processes = Processes(folder)
        port = free_port()
        self.processes.start("sail", Path(sys.executable).parent / "sail", "spark", "server", "--port", port)
        try:
            wait_until(lambda: answers(port), "the server of Sail")
        except BaseException:
            self.stop()
            raise
        self.address = f"sc://127.0.0.1:{port}"

    def stop(self):
        self.processes.stop()


def dask_cluster(folder):
    """A client of Dask and its cluster: two processes with a core each."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit="2GB",
        host="127.0.0.1",
        dashboard_address=None,
        local_directory=str(folder),
        silence_logs="CRITICAL",
    )
    return Client(cluster), cluster


class OnSpark:
    """How the cases reach Spark: classic, through Connect, or Sail."""

    suffix = "spark"

    def __init__(self, session):
        self.session = session

    def frame(self, table, parts):
        """The table, its rows dealt out anew by the engine."""
        return self.session.createDataFrame(arrow_of(table)).repartition(parts)

    def dealt(self, pieces, before=None):
        """A table of just these parts, in this order; ``before(part, batches)`` stands in each one's way."""
        from pyspark.sql.pandas.types import from_arrow_schema

        tables = [arrow_of(piece) for piece in pieces]

        def deal(batches):
            for batch in batches:
                for part in batch.column(0).to_pylist():
                    rows = iter(tables[part].to_batches(max_chunksize=300))
                    yield from rows if before is None else before(part, rows)

        schema = from_arrow_schema(tables[0].schema)
        return self.session.range(0, len(tables), 1, len(tables)).mapInArrow(deal, schema)

    def collect(self, data):
        return data.toArrow().to_pandas()

    def columns(self, data):
        return data.columns


class OnDask:
    """How the cases reach Dask."""

    suffix = "dask"

    def frame(self, table, parts):
        """The table, its rows shuffled."""
        import dask.dataframe as dd

        shuffled = table.sample(frac=1.0, random_state=parts)
        return dd.concat([dd.from_pandas(piece, npartitions=1, sort=False) for piece in cut(shuffled, parts)])

    def dealt(self, pieces, before=None):
        """As on Spark."""
        import dask.dataframe as dd

        def deal(part):
            if before is None:
                return pieces[part]
            rows = [piece.copy() for piece in cut(pieces[part], 3)]
            return pd.concat(list(before(part, iter(rows))))

        return dd.from_map(deal, list(range(len(pieces))), meta=pieces[0].iloc[:0])

    def collect(self, data):
        return data.compute()

    def columns(self, data):
        return list(data.columns)


def arrow_of(table):
    return pa.Table.from_pandas(table, preserve_index=False)


def cut(table, parts):
    """The table in so many parts of nearly one size."""
    return [table.iloc[k * len(table) // parts : (k + 1) * len(table) // parts] for k in range(parts)]


class Memory:
    """The largest resident memory of each process with all its descendants, looked at all the time."""

    def __init__(self, processes, every=0.1):
        self.processes, self.every = processes, every
        self.peaks = dict.fromkeys(processes, 0)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def _watch(self):
        while not self._over.wait(self.every):
            for name, process in self.processes.items():
                self.peaks[name] = max(self.peaks[name], resident(process))


def resident(process):
    """The resident bytes of a process and its descendants."""
    total = 0
    with suppress(psutil.NoSuchProcess):
        for one in [process, *process.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                total += one.memory_info().rss
    return total


def worked(process):
    """The seconds that processors spent on a process and its descendants, those that have ended among them."""
    total = 0.0
    with suppress(psutil.NoSuchProcess):
        for one in [process, *process.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                total += sum(one.cpu_times()[:4])
    return total
