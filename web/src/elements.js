/** A choice among texts, by their number. */
export function select(name, options, chosen, change) {
  const label = element("label");
  const list = element("select");
  options.forEach((text, at) => list.append(new Option(text, at, false, at === chosen)));
  list.addEventListener("change", () => change(Number(list.value)));
  label.append(name, list);
  return label;
}

/** An element of a class. */
export function element(name, kind) {
  const made = document.createElement(name);
  if (kind) {
    made.className = kind;
  }
  return made;
}
