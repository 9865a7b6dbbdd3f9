// map.tsx: draws maps as SVG. Loaded when a page first shows a map, because the outlines and projections take 50 KB
// compressed.
//
// Source: world-atlas (Natural Earth, 1:110 million), which identifies countries by their ISO 3166-1 numbers.

import { bisectRight } from "d3-array";
import { geoAzimuthalEquidistant, geoCircle, geoGraticule10, geoNaturalEarth1, geoPath } from "d3-geo";
import { iso31661Alpha2ToNumeric } from "iso-3166";
import type { VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { feature } from "topojson-client";
import topology from "world-atlas/countries-110m.json";
import type { CountryCount } from "../answers.ts";
import { formatCount } from "../format.ts";
import { Legend } from "./chart.tsx";

const WIDTH = 640;
/**
 * Degrees from the centre to the upper edge at minimum and maximum zoom. The outlines have too little detail for a
 * higher zoom.
 */
const WIDEST = 60;
const NARROWEST = 1;
const MAX_ZOOM = 12;
const STEP = 1.6;
const KM_PER_DEGREE = 111.2;
const ANTARCTICA = "010";
const COAST = { stroke: "var(--coast)", "stroke-width": 0.75 };
const DOT = { r: 4, fill: "var(--accent)", stroke: "var(--card)", "stroke-width": 2 };
const RADIUS = { fill: "var(--accent)", "fill-opacity": 0.18, stroke: "var(--accent)" };

// TypeScript's type for the imported JSON file is too wide for the package: `type: string`, not `type: "Topology"`.
type Topology = Parameters<typeof feature<{ name: string }>>[0] & { objects: { countries: Countries } };
type Countries = Extract<Parameters<typeof feature<{ name: string }>>[1], { type: "GeometryCollection" }>;
const atlas = topology as unknown as Topology;
const world = feature<{ name: string }>(atlas, atlas.objects.countries);
const countries = world.features.filter(({ id }) => id !== ANTARCTICA);

interface ZoomProps {
  readonly label: string;
  readonly height: number;
  /** Minimum and maximum; the initial zoom is 1. */
  readonly range: readonly [min: number, max: number];
  readonly children: (zoom: number) => VNode;
}

/** Buttons that zoom a map. What then is larger than the map's box is scrolled, as anything else in a page. */
function Zoom({ label, height, range: [min, max], children }: ZoomProps) {
  const [zoom, setZoom] = useState(1);
  const box = useRef<HTMLElement>(null);
  const drawn = useRef(1);
  useLayoutEffect(() => {
    const { clientWidth, clientHeight, scrollLeft, scrollTop } = box.current!;
    const factor = zoom / drawn.current;
    drawn.current = zoom;
    const centred = (start: number, size: number) => (start + size / 2) * factor - size / 2;
    box.current!.scrollTo(centred(scrollLeft, clientWidth), centred(scrollTop, clientHeight));
  }, [zoom]);
  const by = (factor: number) => () => setZoom(Math.min(max, Math.max(min, zoom * factor)));
  const buttons = [
    ["+", "Zoom in", "+", by(STEP)],
    ["−", "Zoom out", "-", by(1 / STEP)],
    ["⟲", "Show the whole map", "0", by(1 / zoom)],
  ] as const;
  return (
    <div class="zoom">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region needs keyboard focus (axe) */}
      <section ref={box} tabIndex={0} aria-label={label} style={{ aspectRatio: `${WIDTH} / ${height}` }}>
        {children(zoom)}
      </section>
      <div class="zoom-buttons">
        {buttons.map(([text, name, key, onClick]) => (
          <button
            key={key}
            type="button"
            class="quiet"
            aria-label={name}
            aria-keyshortcuts={key}
            title={`${name} (${key})`}
            onClick={onClick}
          >
            {text}
          </button>
        ))}
      </div>
    </div>
  );
}

interface LocationMapProps {
  readonly latitude: number;
  readonly longitude: number;
  /** Radius in kilometres. */
  readonly radius: number | undefined;
}

/** The surroundings of a point, with a circle that probably contains the location. The point remains in the centre. */
export function LocationMap({ latitude, longitude, radius }: LocationMapProps) {
  const height = WIDTH / 1.8;
  const reach = (radius ?? 200) / KM_PER_DEGREE;
  // Leaves room for the circle and the land around it. At a higher zoom, the outlines are too coarse. At a lower zoom,
  // the dot would hide a 20 km circle.
  const halfHeight = Math.min(90, Math.max(3, reach * 3));
  const range = [Math.min(1, halfHeight / WIDEST), Math.max(1, halfHeight / NARROWEST)] as const;
  const circle = geoCircle().center([longitude, latitude]).radius(reach)();
  const text = `${latitude}, ${longitude}${radius === undefined ? "" : `, within ${formatCount(radius)} km with 67% confidence`}`;
  const draw = (zoom: number) => {
    const projection = geoAzimuthalEquidistant()
      .rotate([-longitude, -latitude])
      .translate([WIDTH / 2, height / 2])
      .scale(((zoom * height) / 2 / halfHeight) * (180 / Math.PI));
    const path = geoPath(projection).digits(1);
    return (
      <svg viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={`Map: ${text}`}>
        <path fill="none" stroke="var(--line)" stroke-width={0.5} d={path(geoGraticule10()) ?? ""} />
        <path fill={shadeOf(0)} {...COAST} d={path(world) ?? ""} />
        {radius !== undefined && <path {...RADIUS} d={path(circle) ?? ""} />}
        <circle {...DOT} cx={WIDTH / 2} cy={height / 2} />
      </svg>
    );
  };
  return (
    <figure class="map">
      <Zoom label={`Map: ${text}`} height={height} range={range}>
        {draw}
      </Zoom>
      <figcaption>{text}</figcaption>
    </figure>
  );
}

const SHADES = 5;
const shadeOf = (i: number) => `color-mix(in srgb, var(--series-0) ${i * 20}%, var(--land))`;

/** A world map with countries shaded by a number. */
export function CountryMap({ title, counts }: { title: string; counts: readonly CountryCount[] }) {
  const byNumber = new Map(counts.map(({ iso_code, count }) => [iso31661Alpha2ToNumeric[iso_code], count]));
  const most = Math.max(1, ...byNumber.values());
  // The scale is logarithmic.
  const step = (i: number) => Math.max(1, Math.ceil(Math.expm1((i * Math.log1p(most)) / SHADES)));
  const steps = Array.from({ length: SHADES }, (_, i) => step(i));
  const legend = steps.flatMap((from, i) =>
    from === steps[i + 1] || from > most ? [] : [[shadeOf(i + 1), `from ${formatCount(from)}`] as const],
  );
  const height = WIDTH * 0.46;
  const projection = geoNaturalEarth1()
    .rotate([-10, 0]) // cuts the world between Asia and America
    .fitExtent(
      [
        [4, 4],
        [WIDTH - 4, height - 4],
      ],
      { ...world, features: countries },
    );
  const path = geoPath(projection).digits(1);
  return (
    <figure class="map">
      <figcaption>
        {title}
        <Legend entries={legend} />
      </figcaption>
      <Zoom label={title} height={height} range={[1, MAX_ZOOM]}>
        {(zoom) => (
          <svg viewBox={`0 0 ${WIDTH} ${height}`} width={`${zoom * 100}%`} role="img" aria-label={title}>
            {countries.map((country) => {
              const n = byNumber.get(String(country.id)) ?? 0;
              const { name } = country.properties;
              return (
                <path key={name} fill={shadeOf(bisectRight(steps, n))} {...COAST} d={path(country) ?? ""}>
                  <title>{`${name}: ${formatCount(n)}`}</title>
                </path>
              );
            })}
          </svg>
        )}
      </Zoom>
    </figure>
  );
}
