import { fileURLToPath } from "node:url";

/** Where the build puts the page. This module lies directly below `src` (or `lib`), so that the path holds for both. */
export const PAGE_FOLDER = fileURLToPath(new URL("../build/page/", import.meta.url));
