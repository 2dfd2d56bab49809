import { bool, type OptionDeclaration, type Parser, path, textOf } from "@rnode/program";

/** An http(s) URL, or the path of a folder, made absolute. */
export const registryPlace: Parser<string> = {
  ...textOf("url|folder", "an http(s) URL or a folder"),
  parse: (value) => {
    if (value === "") return undefined;
    if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(value)) return path.parse(value);
    return URL.canParse(value) && /^https?:$/.test(new URL(value).protocol) ? value : undefined;
  },
};

/**
 * `--registry` and `--offline`: the source of upstream's published files. @param what the files that the program fetches, for the
 * help text
 */
export const fetchOptions = (what: string) =>
  ({
    registry: {
      parse: registryPlace,
      check: (value, other) => {
        if (other("offline") !== true || !/^https?:/i.test(value)) return undefined;
        return "--offline forbids to fetch from a URL: name a folder, or leave one of the two out";
      },
      help: `A superchain registry: a URL, or a folder with the same paths. A named network is read from it instead of the table of this version, and ${what} come from it. Default: the table, and GitHub.`,
    },
    offline: {
      parse: bool,
      default: false,
      help: `Fetch nothing: ${what} are read from --registry=FOLDER, or given by other options.`,
    },
  }) as const satisfies { readonly registry: OptionDeclaration<string>; readonly offline: OptionDeclaration<boolean> };
