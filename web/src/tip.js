// A tooltip that holds text and nothing else.

const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
document.body.append(tip);

/** Shows the text beside the pointer, inside the window. */
export function showTip(event, text) {
  tip.textContent = text;
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 12, innerWidth - width - 8);
  const below = event.clientY + 16;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${below + height < innerHeight ? below : event.clientY - height - 12}px`;
}

/** Hides it. */
export function hideTip() {
  tip.hidden = true;
}
