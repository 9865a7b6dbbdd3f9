// map.tsx: draws maps as SVG. Loaded when a page first shows a map, because the outlines and projections take 50 KB
// compressed.
//
// Source: world-atlas (Natural Earth, 1:110 million), which identifies countries by their ISO 3166-1 numbers.

import { bisectRight } from "d3-array";
import { geoAzimuthalEquidistant, geoCircle, geoGraticule10, geoNaturalEarth1, geoPath } from "d3-geo";
import { iso31661Alpha2ToNumeric } from "iso-3166";
import { feature } from "topojson-client";
import topology from "world-atlas/countries-110m.json";
import type { CountryCount } from "../answers.ts";
import { formatCount } from "../format.ts";
import { Legend } from "./chart.tsx";
import { ZoomMap } from "./zoom.tsx";

const WIDTH = 640;
/**
 * Degrees from the centre to the upper edge at minimum and maximum zoom. The outlines have too little detail for a
 * higher zoom.
 */
const WIDEST = 60;
const NARROWEST = 1;
const MAX_ZOOM = 12;
const KM_PER_DEGREE = 111.2;
const ANTARCTICA = "010";
/** Radius of the dot in the centre. */
const DOT = 4;
const COAST = { stroke: "var(--coast)", "stroke-width": 0.75 };
const RADIUS = { fill: "var(--accent)", "fill-opacity": 0.18, stroke: "var(--accent)" };

// TypeScript's type for the imported JSON file is too wide for the package: `type: string`, not `type: "Topology"`.
type Topology = Parameters<typeof feature<{ name: string }>>[0] & { objects: { countries: Countries } };
type Countries = Extract<Parameters<typeof feature<{ name: string }>>[1], { type: "GeometryCollection" }>;
const atlas = topology as unknown as Topology;
const world = feature<{ name: string }>(atlas, atlas.objects.countries);
const countries = world.features.filter(({ id }) => id !== ANTARCTICA);

interface LocationMapProps {
  readonly latitude: number;
  readonly longitude: number;
  /** Radius in kilometres. */
  readonly radius: number | undefined;
}

/** The surroundings of a point, with a circle that probably contains the location. */
export function LocationMap({ latitude, longitude, radius }: LocationMapProps) {
  const height = WIDTH / 1.8;
  const reach = (radius ?? 200) / KM_PER_DEGREE;
  // Leaves room for the circle and the land around it. At a higher zoom, the outlines are too coarse. At a lower zoom,
  // the dot would hide a 20 km circle.
  const halfHeight = Math.min(90, Math.max(3, reach * 3));
  const projection = geoAzimuthalEquidistant()
    .rotate([-longitude, -latitude])
    .translate([WIDTH / 2, height / 2])
    .scale((height / 2 / halfHeight) * (180 / Math.PI));
  const earth = projection.scale() * Math.PI; // the outermost circle is the antipode
  const content = [WIDTH / 2 - earth, height / 2 - earth, WIDTH / 2 + earth, height / 2 + earth] as const;
  const range = [Math.min(1, halfHeight / WIDEST), Math.max(1, halfHeight / NARROWEST)] as const;
  const path = geoPath(projection).digits(1);
  const circle = geoCircle().center([longitude, latitude]).radius(reach)();
  const text = `${latitude}, ${longitude}${radius === undefined ? "" : `, within ${formatCount(radius)} km with 67% confidence`}`;
  return (
    <figure class="map">
      <ZoomMap
        label={`Map: ${text}`}
        width={WIDTH}
        height={height}
        range={range}
        content={content}
        marks={({ k, x, y }) => (
          <circle
            fill="var(--accent)"
            stroke="var(--card)"
            stroke-width={2}
            cx={(k * WIDTH) / 2 + x}
            cy={(k * height) / 2 + y}
            r={DOT}
          />
        )}
      >
        <path fill="none" stroke="var(--line)" stroke-width={0.5} d={path(geoGraticule10()) ?? ""} />
        <path fill={shadeOf(0)} {...COAST} d={path(world) ?? ""} />
        {radius !== undefined && <path {...RADIUS} d={path(circle) ?? ""} />}
      </ZoomMap>
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
      <ZoomMap
        label={title}
        width={WIDTH}
        height={height}
        range={[1, MAX_ZOOM]}
        content={[0, 0, WIDTH, height]}
      >
        {countries.map((country) => {
          const n = byNumber.get(String(country.id)) ?? 0;
          const { name } = country.properties;
          return (
            <path key={name} fill={shadeOf(bisectRight(steps, n))} {...COAST} d={path(country) ?? ""}>
              <title>{`${name}: ${formatCount(n)}`}</title>
            </path>
          );
        })}
      </ZoomMap>
    </figure>
  );
}
