// Bundles the charts into one script that a page can hold, with the notices of everything in it at its end.

import { build } from "esbuild";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const OUT = "dist/charts.js";

const { metafile } = await build({
  entryPoints: ["src/main.js"],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2020",
  charset: "ascii",
  legalComments: "eof",
  metafile: true,
  outfile: OUT,
});

writeFileSync(OUT, `${readFileSync(OUT, "utf8")}\n/*!\n${notices(metafile)}\n*/\n`);

/** The licences of the packages in the bundle, each text once. */
function notices({ inputs }) {
  const folder = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//;
  const folders = new Set(Object.keys(inputs).flatMap((path) => path.match(folder)?.[1] ?? []));
  const packages = new Map();
  for (const path of [...folders].sort()) {
    const { name, version } = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
    const text = licence(path);
    packages.set(text, [...(packages.get(text) ?? []), `${name} ${version}`]);
  }
  return [...packages].map(([text, names]) => `${names.join(", ")}:\n\n${text}`).join("\n\n----\n\n");
}

function licence(path) {
  const file = readdirSync(path).find((name) => /^licen[cs]e/i.test(name));
  if (!file || !existsSync(join(path, file))) {
    throw new Error(`${path} is in the bundle but has no licence text`);
  }
  return readFileSync(join(path, file), "utf8").trim().replaceAll("*/", "* /");
}
