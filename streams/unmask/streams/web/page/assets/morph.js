// Makes one element like another and touches only what differs, so that focus, scrolling, selection and what a screen
// reader has reached stay where they are. Rows that move are recognised by data-key.

const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node.id || node.dataset?.key || null : null);

const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && keyOf(a) === keyOf(b);

export function morph(current, wanted) {
  const focused = document.activeElement;
  change(current, wanted);
  if (focused !== document.activeElement && focused?.isConnected) focused.focus({ preventScroll: true });
}

function change(current, wanted) {
  if (current.nodeType !== Node.ELEMENT_NODE) {
    if (current.nodeValue !== wanted.nodeValue) current.nodeValue = wanted.nodeValue;
    return;
  }
  for (const { name } of [...current.attributes]) {
    // Whether something is unfolded is the reader's decision.
    if (name === "open" && current.nodeName === "DETAILS") continue;
    if (!wanted.hasAttribute(name)) current.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (current.getAttribute(name) !== value) current.setAttribute(name, value);
  }
  changeChildren(current, wanted);
}

function changeChildren(current, wanted) {
  const keyed = new Map();
  for (const child of current.childNodes) {
    const key = keyOf(child);
    if (key !== null) keyed.set(key, child);
  }
  let place = current.firstChild;
  for (const next of [...wanted.childNodes]) {
    const key = keyOf(next);
    const known = key === null ? place : keyed.get(key);
    if (known && alike(known, next)) {
      if (known === place) place = place.nextSibling;
      else current.insertBefore(known, place);
      change(known, next);
    } else {
      current.insertBefore(next, place);
    }
  }
  while (place !== null) {
    const after = place.nextSibling;
    place.remove();
    place = after;
  }
}
