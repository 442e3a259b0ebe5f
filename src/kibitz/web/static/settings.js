// @ts-check
// How one likes the table: light or dark, colours of the suits, order of the hand, pace, keys.

import { make } from "./dom.js";
import { keepSettings, keptSettings } from "./keep.js";

export const settings = keptSettings({
  theme: "auto",
  colours: "2",
  /** What is printed for ace, king, queen and jack. */
  ranks: "AKQJ",
  /** The cards with which Briškola is played. */
  deck: "italian",
  sort: "suit",
  /** Seconds for which a finished trick lies on the table; or "confirm": until a key or a click. */
  pause: "1",
  view: "cards",
  letters: true,
});

/** @type {{name: "theme" | "colours" | "ranks" | "deck" | "sort" | "pause" | "view", text: string, choices: [string, string][]}[]} */
const CHOICES = [
  { name: "theme", text: "Light or dark", choices: [["auto", "as the system"], ["light", "light"], ["dark", "dark"]] },
  { name: "colours", text: "Colours of French suits", choices: [["2", "two"], ["4", "four"]] },
  { name: "ranks", text: "Letters of French cards",
    choices: [["AKQJ", "A K Q J"], ["AHVB", "A H V B"], ["AKDB", "A K D B"], ["ARDV", "A R D V"], ["ARDF", "A R D F"]] },
  { name: "deck", text: "Cards of Briškola", choices: [["italian", "Italian"], ["french", "French"]] },
  { name: "view", text: "The table", choices: [["cards", "cards"], ["text", "text and buttons"]] },
  { name: "sort", text: "Hand sorted by", choices: [["suit", "suit"], ["rank", "rank"]] },
  { name: "pause", text: "A finished trick stays for",
    choices: [["0", "no time"], ["1", "one second"], ["2", "two seconds"], ["confirm", "until a key or click"]] },
];

/** Let the page look as it is set. */
export function applySettings() {
  document.documentElement.dataset.theme = settings.theme;
  document.documentElement.dataset.colours = settings.colours;
}

/** The dialog in which all of it is set. @param {() => void} changed @returns {HTMLDialogElement} */
export function settingsDialog(changed) {
  const dialog = /** @type {HTMLDialogElement} */ (make("dialog", { "aria-labelledby": "settings-title" }));
  const save = () => {
    keepSettings(settings);
    applySettings();
    changed();
  };
  const rows = CHOICES.map(({ name, text, choices }) => {
    const field = /** @type {HTMLSelectElement} */ (make("select", { id: `set-${name}`, onchange: () => {
      settings[name] = field.value;
      save();
    } }));
    for (const [value, label] of choices) field.append(make("option", { value }, label));
    field.value = settings[name];
    return make("div", { class: "setting" }, make("label", { for: `set-${name}` }, text), field);
  });
  const letters = /** @type {HTMLInputElement} */ (make("input", { id: "set-letters", type: "checkbox", onchange: () => {
    settings.letters = letters.checked;
    save();
  } }));
  letters.checked = settings.letters;
  dialog.append(
    make("h2", { id: "settings-title" }, "Settings"), ...rows,
    make("div", { class: "setting" }, make("label", { for: "set-letters" }, "Single letters are keys"), letters),
    make("form", { method: "dialog" }, make("button", { class: "main" }, "Done")),
  );
  return dialog;
}

applySettings();
