// Elements without a library. Text is always set as text: a name with markup stays a name.

let lastId = 0;

/** Return an id that no other element has. */
export function newId() {
  lastId += 1;
  return `dx${lastId}`;
}

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (["value", "checked", "disabled", "hidden", "open", "selected"].includes(name))
      element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined));
  return element;
}

/** Return an HTML element: attributes, `on...` listeners, children (texts or elements). */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Return an SVG element. */
export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Replace what an element holds. */
export function put(element, ...children) {
  element.replaceChildren(...children.flat(3).filter((child) => child));
  return element;
}

/** Return a function that runs `work` once its calls have ceased for some milliseconds. */
export function debounce(work, milliseconds) {
  let timer = null;
  const later = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), milliseconds);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

/** Offer a text as a file to keep. */
export function download(name, kind, text) {
  const address = URL.createObjectURL(new Blob([text], { type: kind }));
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** Return a section with a heading: the body is what `draw` fills. */
export function card(title, about, ...children) {
  const id = newId();
  const body = h("div", { class: "body" }, ...children);
  const element = h(
    "section",
    { class: "card", "aria-labelledby": id },
    h("h2", { id }, title),
    about ? h("p", { class: "about" }, about) : null,
    body,
  );
  return { element, body };
}

/** Return a name that may be broken after an underscore. */
export function breakable(name) {
  return name.split(/(?<=_)/).flatMap((part, k) => (k ? [h("wbr"), part] : [part]));
}

/** Return a copy of plain data. */
export function copy(value) {
  return JSON.parse(JSON.stringify(value));
}

/** Return a number as people read it. */
export function shown(value) {
  if (value === null || value === undefined) return "missing";
  if (typeof value !== "number") return String(value);
  return value.toLocaleString("en", { maximumSignificantDigits: 6 });
}
