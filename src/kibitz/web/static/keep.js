// @ts-check
// What this browser keeps: the tokens of one's seats, and how one likes the table.

const MOST = 100;

/** @param {string} name */
function kept(name) {
  try {
    return JSON.parse(localStorage.getItem(`kibitz.${name}`) ?? "null");
  } catch {
    return null;
  }
}

/** @param {string} name @param {unknown} value */
function put(name, value) {
  try {
    localStorage.setItem(`kibitz.${name}`, JSON.stringify(value));
  } catch {
    // A browser that keeps nothing can still play: the link holds the token.
  }
}

/** @returns {string[]} */
export function tokens() {
  const found = kept("tokens");
  return Array.isArray(found) ? found.filter((token) => typeof token === "string") : [];
}

/** @param {string} token */
export function keep(token) {
  put("tokens", [token, ...tokens().filter((other) => other !== token)].slice(0, MOST));
}

/** What a table's links open, for who has opened it. @typedef {{what: string, token: string}} Link */

/** @param {string} token one's own @param {Link[]} links */
export const keepLinks = (token, links) => put("links", Object.fromEntries([[token, links], ...Object.entries(kept("links") ?? {})].slice(0, MOST)));

/** @param {string} token @returns {Link[]} */
export const linksOf = (token) => kept("links")?.[token] ?? [];

/** Settings as they are kept, put over the usual ones. @template {object} T @param {T} usual @returns {T} */
export function keptSettings(usual) {
  const found = kept("settings");
  return { ...usual, ...(found && typeof found === "object" ? found : {}) };
}

/** @param {object} settings */
export const keepSettings = (settings) => put("settings", settings);
