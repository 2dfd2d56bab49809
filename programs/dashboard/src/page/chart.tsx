import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { timeOf } from "./format.ts";

export interface Series {
  readonly label: string;
  /** name of the CSS variable with its colour */
  readonly colour: string;
  readonly as?: "line" | "bars";
  readonly scale?: string;
  readonly value: (value: number) => string;
  /** the scale shows small values next to large ones */
  readonly isSpread?: boolean;
}

export interface ChartProps {
  /** text for screen readers */
  readonly summary: string;
  readonly data: uPlot.AlignedData;
  readonly series: readonly Series[];
  /** how the x axis counts */
  readonly x: "time" | "number";
  readonly height: number;
  /** changes with the colours */
  readonly theme: string;
}

const css = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** A chart that follows the width of its place. With the focus on it, the arrow keys move the cursor. */
export function Chart({ summary, data, series, x, height, theme }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  useEffect(() => {
    const element = place.current!;
    const made = new uPlot(optionsOf(element.clientWidth, height, series, x), data, element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [theme, height, x]);
  useEffect(() => {
    plot.current?.setData(data);
    showLatest(plot.current!);
  }, [data]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    const made = plot.current;
    if (step === 0 || made === undefined) return;
    event.preventDefault();
    const last = made.data[0].length - 1;
    const index = Math.min(last, Math.max(0, (made.cursor.idx ?? last + (step < 0 ? 1 : 0)) + step));
    made.setCursor({ left: made.valToPos(made.data[0][index]!, "x"), top: 10 });
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move the cursor of the chart
    <div class="chart" ref={place} role="img" aria-label={summary} tabIndex={0} onKeyDown={onKeyDown} />
  );
}

/** Without a cursor, the legend shows the latest values. */
function showLatest(plot: uPlot): void {
  if (plot.cursor.idx === null || plot.cursor.idx === undefined) plot.setLegend({ idx: plot.data[0].length - 1 });
}

/** Where a scale that is compressed towards the top has its lines. */
const SPREAD_TICKS = [0, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 86_400];

/** Few enough to be read. */
function spreadTicks(max: number): number[] {
  const ticks = SPREAD_TICKS.filter((tick) => tick <= max);
  return ticks.length <= 6 ? ticks : ticks.filter((tick, index) => tick === 0 || (ticks.length - 1 - index) % 2 === 0);
}

const clock = (atSec: number): string => timeOf(atSec * 1000);

function optionsOf(width: number, height: number, series: readonly Series[], x: ChartProps["x"]): uPlot.Options {
  const [text, grid] = [css("--muted"), css("--line")];
  const font = "12px system-ui, sans-serif";
  const axis: uPlot.Axis = { stroke: text, font, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1, size: 4 } };
  const isSpread = (scale: string): boolean => series.some((one) => (one.scale ?? "y") === scale && one.isSpread === true);
  const scales = [...new Set(series.map(({ scale = "y" }) => scale))];
  return {
    width,
    height,
    padding: [8, 26, 0, 0],
    legend: { live: true },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    hooks: { setCursor: [showLatest] },
    scales: {
      x: x === "time" ? { time: true } : { time: false, range: (_: uPlot, min: number, max: number) => [min - 0.6, max + 0.6] },
      ...Object.fromEntries(
        scales.map((scale) => [
          scale,
          {
            range: (_: uPlot, __: number, max: number) => [0, (max || 1) * 1.08],
            ...(isSpread(scale) && { distr: 4, asinh: 4 }),
          },
        ]),
      ),
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 76,
        values: (_, ticks) => ticks.map((tick) => (x === "time" ? clock(tick) : Number.isInteger(tick) ? String(tick) : "")),
      },
      ...scales.map((scale, index): uPlot.Axis => {
        const { value } = series.find((one) => (one.scale ?? "y") === scale)!;
        return {
          ...axis,
          scale,
          side: index === 0 ? 3 : 1,
          size: 66,
          space: 30,
          grid: { ...axis.grid, show: index === 0 },
          values: (_, ticks) => ticks.map(value),
          ...(isSpread(scale) && { splits: (_, __, ___, max) => spreadTicks(max), filter: (_, ticks) => ticks }),
        };
      }),
    ],
    series: [
      { label: x === "time" ? "time" : "block", value: (_, at) => (at === null ? "" : x === "time" ? clock(at) : String(at)) },
      ...series.map(({ label, colour, as = "line", scale = "y", value }): uPlot.Series => {
        const stroke = css(colour);
        return {
          label,
          scale,
          stroke,
          width: as === "line" ? 2 : 0,
          points: { show: false },
          value: (_, at) => (at === null || at === undefined ? "" : value(at)),
          ...(as === "bars" && { fill: `${stroke}`, paths: uPlot.paths.bars!({ size: [0.62, 24], radius: 0.15 }) }),
        };
      }),
    ],
  };
}
