"""What a page must keep to for everybody who reads it, asked of the page as Chromium renders it."""

from typing import Any

__all__ = ["accessibility_faults", "sideways_scroll"]

_FAULTS = r"""
() => {
  const faults = [];
  const visible = (e) => e.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && !e.closest(".unseen");
  const name = (e) => `${e.tagName.toLowerCase()}${e.id ? "#" + e.id : ""}.${e.className?.baseVal ?? e.className}`;

  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const parse = (colour) => {
    if (!known.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(colour, [r, g, b, a / 255]);
    }
    return known.get(colour);
  };
  const over = (front, back) => front.slice(0, 3).map((c, i) => c * front[3] + back[i] * (1 - front[3]));
  const background = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) layers.unshift(parse(getComputedStyle(at).backgroundColor));
    return layers.reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  let texts = 0;
  for (const e of document.body.querySelectorAll("*")) {
    const own = [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.nodeValue.trim());
    if (!own || e.closest("svg, noscript") || !visible(e)) continue;
    texts += 1;
    const style = getComputedStyle(e), behind = background(e);
    const ratio = contrast(over(parse(style.color), behind), behind);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const told = `contrast ${ratio.toFixed(2)} of ${name(e)}: ${e.textContent.slice(0, 30)}`;
    if (ratio < (large ? 3 : 4.5)) faults.push(told);
    if (size < 11) faults.push(`text of ${size} px in ${name(e)}`);
  }
  if (texts < 20) faults.push(`only ${texts} texts were looked at`);
  for (const icon of document.querySelectorAll("svg.icon")) {
    if (!visible(icon)) continue;
    const behind = background(icon.parentElement);
    const ratio = contrast(parse(getComputedStyle(icon).color), behind);
    if (ratio < 3) faults.push(`contrast ${ratio.toFixed(2)} of a shape in ${name(icon.parentElement)}`);
    if (!icon.parentElement.textContent.trim()) faults.push(`a shape without a word in ${name(icon.parentElement)}`);
  }

  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const next = Number(heading.tagName[1]);
    if (next > level + 1) faults.push(`heading level ${level} is followed by ${next}: ${heading.textContent}`);
    if (!heading.textContent.trim()) faults.push("an empty heading");
    level = next;
  }
  for (const [what, number] of [["h1", 1], ["main", 1], ["header", 1], ["footer", 1]]) {
    if (document.querySelectorAll(what).length !== number) faults.push(`not ${number} ${what}`);
  }
  if (!document.documentElement.lang) faults.push("no language");
  if (!document.title.trim()) faults.push("no title");
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  if (new Set(ids).size !== ids.length) faults.push("an id stands twice");
  for (const e of document.querySelectorAll("[aria-labelledby]")) {
    if (!document.getElementById(e.getAttribute("aria-labelledby"))) faults.push(`${name(e)} is labelled by nothing`);
  }
  for (const link of document.querySelectorAll("a, button, summary")) {
    if (!link.textContent.trim()) faults.push(`${name(link)} has no name`);
  }
  for (const e of document.querySelectorAll("nav, progress, ol.strip")) {
    if (!e.getAttribute("aria-label")) faults.push(`${name(e)} has no label`);
  }
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption?.textContent.trim()) faults.push("a table without a caption");
    const columns = table.tHead.rows[0].cells.length;
    for (const row of table.tBodies[0].rows) {
      if (row.cells.length !== columns) faults.push("a row with another number of cells");
      if (row.cells[0].tagName !== "TH") faults.push("a row without a heading");
    }
  }
  for (const e of document.querySelectorAll("[tabindex]")) {
    if (e.tabIndex > 0) faults.push(`${name(e)} forces its place in the order`);
  }
  return faults;
}
"""


def accessibility_faults(page: Any) -> list[str]:
    """Contrast of every text and shape, order of headings, names, captions, labels: what is wrong with them."""
    return list(page.evaluate(_FAULTS))


def sideways_scroll(page: Any) -> int:
    """By how many pixels the page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
