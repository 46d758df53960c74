// Few rows in many bins draw noise, not a distribution: bins are joined until an ordinary cell has rows for them.

const ROWS_PER_BIN = 20;

/** The view with bins joined by the smallest number that is enough and leaves no bin over, three at most. */
export function coarser(view, cells) {
  const bins = view.edges.length - 1;
  const rows = cells.map((cell) => cell.rows).sort((a, b) => a - b)[Math.floor(cells.length / 2)];
  const joined = [1, 2, 3].filter((by) => bins % by === 0);
  const by = joined.find((by) => (by * rows) / bins >= ROWS_PER_BIN) ?? joined.at(-1) ?? 1;
  if (by === 1) {
    return { view, joined: 1 };
  }
  const edges = view.edges.filter((_, at) => at % by === 0);
  return { view: { ...view, edges, before: view.before && join(view.before, by), now: join(view.now, by) }, joined: by };
}

function join({ cells, all }, by) {
  return { cells: cells.map((cell) => sums(cell, by)), all: sums(all, by) };
}

function sums(numbers, by) {
  const shares = [];
  numbers.shares.forEach((share, at) => {
    const bin = Math.floor(at / by);
    shares[bin] = (shares[bin] ?? 0) + share;
  });
  return { ...numbers, shares };
}
