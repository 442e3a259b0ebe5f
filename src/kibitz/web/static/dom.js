// @ts-check
// Elements made and changed in place: what has the focus is never made anew.

/**
 * An element with attributes, listeners (on…) and children.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElement}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  set(element, attributes);
  element.append(...children);
  return element;
}

/**
 * Change attributes; null, undefined and false take one away.
 * @param {Element} element
 * @param {Record<string, any>} attributes
 */
export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === false || value === null || value === undefined) element.removeAttribute(name);
    else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
  }
}

/**
 * Let a container hold one child for each item: those that are there already stay, in place.
 * A neighbour gets the focus of a child that goes.
 * @template T
 * @param {Element} container
 * @param {T[]} items
 * @param {(item: T) => string} key
 * @param {(item: T) => HTMLElement} create
 * @param {(element: HTMLElement, item: T) => void} [update]
 */
export function patch(container, items, key, create, update = () => {}) {
  const there = new Map([...container.children].map((child) => [child.getAttribute("data-key"), child]));
  const focused = [...container.children].findIndex((child) => child.contains(document.activeElement));
  const wanted = items.map((item) => {
    const child = /** @type {HTMLElement} */ (there.get(key(item)) ?? create(item));
    child.setAttribute("data-key", key(item));
    update(child, item);
    return child;
  });
  for (const child of [...container.children]) if (!wanted.includes(/** @type {any} */ (child))) child.remove();
  wanted.forEach((child, i) => {
    if (container.children[i] !== child) container.insertBefore(child, container.children[i] ?? null);
  });
  if (focused >= 0 && !container.contains(document.activeElement)) {
    const next = wanted[Math.min(focused, wanted.length - 1)];
    const target = next?.matches("button") ? next : next?.querySelector("button");
    /** @type {HTMLElement} */ (target ?? document.querySelector(".hand button") ?? byId("main")).focus();
  }
}

/** @param {string} id */
export const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** Say something to those who listen; again, if it is the same once more. @param {string} text */
export function announce(text) {
  const news = byId("news");
  news.textContent = news.textContent === text ? `${text}\u00a0` : text;
}

/** Say that something went wrong; nothing, to clear it. @param {string} text */
export function alarm(text) {
  byId("alarm").textContent = text;
}
