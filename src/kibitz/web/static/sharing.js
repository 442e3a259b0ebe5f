// @ts-check
// Copies of a line of play: as a link, in every notation, as a diagram.

import { announce, make } from "./dom.js";

const SCALE = 2;

/**
 * One menu for all that can be copied.
 * @param {() => {link: string, frame: string, texts: Record<string, string>, picture: string}} of what there is to copy
 * @param {() => void} ask for the picture of this position
 */
export function makeSharing(of, ask) {
  const shown = make("p", { class: "link" });
  const menu = make("div", { class: "steps" });
  const element = make("details", { class: "sharing", ontoggle: fill }, make("summary", {}, "Copy and share"), menu, shown);

  /** A button for everything: what there is depends on the line. */
  function fill() {
    const { link, frame, texts, picture } = of();
    const copies = { link, ...texts, "diagram as text": picture, "frame for a page": `<iframe src="${frame}" title="Kibitz" width="700" height="600"></iframe>` };
    menu.replaceChildren(
      ...Object.entries(copies).map(([what, text]) => make("button", { type: "button", onclick: () => copy(text) }, `Copy ${what}`)),
      make("button", { type: "button", onclick: ask }, "Diagram as SVG and PNG"));
  }

  /** @param {string} text */
  function copy(text) {
    shown.replaceChildren(make("code", {}, text));
    void navigator.clipboard?.writeText(text).then(() => announce("Copied."), () => {});
  }

  /** Offer a picture to be kept. @param {string} svg */
  function draw(svg) {
    const vector = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
    const image = new Image();
    image.alt = "Diagram of this position";
    image.onload = () => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [SCALE * image.naturalWidth, SCALE * image.naturalHeight];
      canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => {
        if (blob) links.append(" ", make("a", { href: URL.createObjectURL(blob), download: "kibitz.png" }, "Save PNG"));
      });
    };
    const links = make("span", {}, make("a", { href: vector, download: "kibitz.svg" }, "Save SVG"));
    image.src = vector;
    shown.replaceChildren(image, make("br"), links);
  }

  return { element, draw };
}
