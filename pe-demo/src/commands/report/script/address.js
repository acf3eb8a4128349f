/**
 * The view in the page's address. Behind "#" are a place on the page, the controls that were moved, and the
 * colors if they were chosen: `#table&position=64&theme=dark`. A reload or a copied address restores them.
 */

import { reset, setTo, untouched, valueOf } from "./controls.js";

/** @typedef {import("./controls.js").Control} Control */

const controls = /** @type {Control[]} */ ([...document.querySelectorAll(".control input, .control select")]);
const themeButton = /** @type {HTMLElement} */ (document.getElementById("theme"));
const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

let place = "";

const parts = () => window.location.hash.slice(1).split("&").filter((part) => part !== "");

const showTheme = () => {
  const chosen = document.documentElement.dataset.theme;
  const dark = chosen ? chosen === "dark" : prefersDark.matches;
  themeButton.setAttribute("aria-pressed", String(dark));
};

/** Writes the view into the address. */
export const writeAddress = () => {
  const moved = controls.filter((control) => !untouched(control)).map((control) => `${control.id}=${valueOf(control)}`);
  const theme = document.documentElement.dataset.theme;
  const all = [place, ...moved, theme ? `theme=${theme}` : ""].filter((part) => part !== "");
  const [before] = window.location.href.split("#");
  window.history.replaceState(null, "", all.length ? `${before}#${all.join("&")}` : before);
};

let writing = 0;

/**
 * Writes the view into the address soon: browsers count the changes.
 * @param {string} at the place on the page where something changed
 */
export const noteChange = (at) => {
  place = at;
  window.clearTimeout(writing);
  writing = window.setTimeout(writeAddress, 250);
};

/** Restores the view from the address. */
const readAddress = () => {
  const values = new Map(parts().map((part) => /** @type {[string, string]} */ (part.split("=", 2))));
  for (const control of controls) {
    reset(control);
    setTo(control, values.get(control.id) ?? "");
  }
  const theme = values.get("theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  showTheme();
};

const readPlace = () => {
  place = parts().find((part) => !part.includes("=")) ?? "";
  // A browser goes to a place alone by itself.
  if (parts().length > 1 && place) document.getElementById(place)?.scrollIntoView();
};

/**
 * Follows the address, and calls back when the view or the colors have changed.
 * @param {() => void} changed
 */
export const followAddress = (changed) => {
  readAddress();
  readPlace();
  window.addEventListener("hashchange", () => {
    // A link of the contents has a place alone, and keeps the view.
    if (parts().some((part) => part.includes("="))) readAddress();
    readPlace();
    writeAddress();
    changed();
  });
  themeButton.addEventListener("click", () => {
    const dark = themeButton.getAttribute("aria-pressed") !== "true";
    if (dark === prefersDark.matches) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = dark ? "dark" : "light";
    showTheme();
    writeAddress();
    changed();
  });
  prefersDark.addEventListener("change", () => {
    showTheme();
    changed();
  });
};
