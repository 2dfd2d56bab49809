import { useEffect, useState } from "preact/hooks";

export type Theme = "auto" | "light" | "dark";
const KEY = "rnode-theme";
const THEMES: readonly Theme[] = ["auto", "light", "dark"];

function stored(): Theme {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? "auto";
  } catch {
    return "auto"; // the browser keeps nothing for this page
  }
}

/** The theme that was chosen, how to choose the next one, and which of both is seen. */
export function useTheme(): { readonly theme: Theme; readonly next: () => void; readonly seen: "light" | "dark" } {
  const [theme, setTheme] = useState(stored);
  const [isDark, setDark] = useState(() => matchMedia("(prefers-color-scheme: dark)").matches);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const follow = (): void => setDark(query.matches);
    query.addEventListener("change", follow);
    return () => query.removeEventListener("change", follow);
  }, []);
  const seen = theme === "auto" ? (isDark ? "dark" : "light") : theme;
  document.documentElement.dataset.theme = seen;
  const next = (): void => {
    const chosen = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!;
    try {
      localStorage.setItem(KEY, chosen);
    } catch {} // then it holds until the page is closed
    setTheme(chosen);
  };
  return { theme, next, seen };
}
