import type { ComponentChildren } from "preact";

export interface PanelProps {
  readonly title: string;
  /** text next to the title */
  readonly note?: ComponentChildren;
  /** over all columns */
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
}

/** One part of the page, with its heading. */
export function Panel({ title, note, isWide, children }: PanelProps) {
  const id = `panel-${title.toLowerCase().replace(/\W+/g, "-")}`;
  return (
    <section id={id.replace("panel-", "")} class={isWide ? "panel wide" : "panel"} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {note !== undefined && <p class="note">{note}</p>}
      </header>
      {children}
    </section>
  );
}

/** The text shown while there is no data. */
export const Nothing = ({ children }: { readonly children: ComponentChildren }) => <p class="nothing">{children}</p>;

export interface FigureProps {
  readonly label: string;
  readonly value: string;
  readonly detail?: string | undefined;
  readonly colour?: string | undefined;
}

/** One figure with its label. */
export const Figure = ({ label, value, detail, colour }: FigureProps) => (
  <div class="figure" style={colour === undefined ? undefined : { "--mark": `var(${colour})` }}>
    <dt>{label}</dt>
    <dd>
      {value}
      {detail !== undefined && <small>{detail}</small>}
    </dd>
  </div>
);

export interface TableProps {
  readonly label: string;
  readonly head: readonly { readonly text: string; readonly isNumber?: boolean }[];
  readonly rows: readonly {
    readonly key: string | number;
    readonly cells: readonly ComponentChildren[];
    readonly kind?: string | undefined;
  }[];
}

/** Scrolls content that is too large for its container, also with the keyboard. */
export const Scroll = ({ label, children }: { readonly label: string; readonly children: ComponentChildren }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached with the keyboard
  <section class="scroll" aria-label={label} tabIndex={0}>
    {children}
  </section>
);

export const Table = ({ label, head, rows }: TableProps) => (
  <Scroll label={label}>
    <table>
      <thead>
        <tr>
          {head.map(({ text, isNumber }) => (
            <th key={text} scope="col" class={isNumber ? "number" : undefined}>
              {text}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ key, cells, kind }) => (
          <tr key={key} class={kind}>
            {cells.map((cell, column) => (
              <td key={column} class={head[column]?.isNumber ? "number" : undefined}>
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </Scroll>
);
