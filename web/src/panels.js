/** Shows the tables of what is chosen and hides the others. */
export function showPanels({ subject, columns }) {
  for (const panel of document.querySelectorAll("[data-against]")) {
    const other = panel.dataset.subject !== undefined && Number(panel.dataset.subject) !== subject;
    panel.hidden = other || Number(panel.dataset.against) !== columns;
  }
}
