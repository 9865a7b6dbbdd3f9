// tests deploy/kubernetes: the manifests are valid and match the program, and the page turns them into a Helm chart.

import { describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { OPERATIONS, SETTING_NAMES, variableName } from "@inkling/contract";
import { withPrograms } from "../harness/programs.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

const DEPLOY = resolve(import.meta.dir, "../../deploy");
const MODES = ["one-host", "channel"] as const;
/** Where the page mounts the database's CA certificate. */
const CA_FILE = "/etc/postgres/ca.crt";
const PAGE = readFileSync(join(DEPLOY, "../docs/kubernetes.md"), "utf8");
interface Container {
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts: readonly { readonly name: string }[];
  readonly [probe: `${string}Probe`]: { readonly httpGet: { readonly path: string; readonly port: string } };
}

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: readonly Container[]; readonly volumes: readonly object[] };
    };
  };
}

const parse = (text: string): Manifest[] =>
  [Bun.YAML.parse(text) as Manifest | Manifest[]].flat().filter((document) => document !== null);

function run(command: readonly string[]): string {
  const { stdout, stderr, success } = Bun.spawnSync([...command]);
  if (!success) throw new Error(`${command[0]}: ${stderr}`);
  return stdout.toString();
}

const kustomized = (mode: string) => parse(run(["kubectl", "kustomize", join(DEPLOY, "kubernetes", mode)]));

/** Returns a user's kustomization, in a folder beside a copy of deploy/kubernetes. */
function customized(kustomization: string): Manifest[] {
  const own = temporaryFolder();
  cpSync(join(DEPLOY, "kubernetes"), join(own, "deploy/kubernetes"), { recursive: true });
  mkdirSync(join(own, "inkling"));
  writeFileSync(join(own, "inkling/kustomization.yaml"), kustomization);
  return parse(run(["kubectl", "kustomize", join(own, "inkling")]));
}

type Volume = { readonly name: string };

/** Returns every manifest as it is written. */
const manifests = (mode: string) =>
  ["base", mode].flatMap((name) =>
    readdirSync(join(DEPLOY, "kubernetes", name))
      .filter((file) => file !== "kustomization.yaml")
      .flatMap((file) => parse(readFileSync(join(DEPLOY, "kubernetes", name, file), "utf8"))),
  );

withPrograms("docs/kubernetes.md: servers and builder get the same database", ["kubectl"], true, () => {
  const page = PAGE.replaceAll("\\\n", "").replaceAll("'", "");
  const urls = ["inkling", "inkling-builder"].map((name) => {
    const [command = ""] = new RegExp(`^kubectl create secret generic ${name} .*$`, "m").exec(page) ?? [];
    const secret = JSON.parse(run([...command.split(/\s+/), "--dry-run=client", "--output=json"]));
    expect(Object.keys(secret.data)).toEqual(
      expect.arrayContaining(["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]),
    );
    return atob(secret.data.INKLING_DATABASE_URL ?? "");
  });
  expect(urls[0]).toStartWith("postgres://");
  expect(PAGE.match(/^ .*INKLING_DATABASE_URL=.*$/gm)).toEqual([
    expect.stringMatching(/='INKLING_DATABASE_URL=.*' \\$/), // "&" would end a shell command
    expect.stringMatching(/='INKLING_DATABASE_URL=.*' \\$/),
  ]);
  const query = new URL(urls[0]!).searchParams;
  expect(query.get("sslmode")).toBe("verify-full");
  expect(query.get("sslrootcert")).toBe(CA_FILE);
  expect(urls[1]).toBe(urls[0]!);
});

describe("manifests name what the program has", () => {
  const variables = new Set(SETTING_NAMES.map(variableName));
  const all = MODES.flatMap(manifests);
  const containers = all.flatMap(({ kind, spec }) =>
    kind === "Deployment" ? spec.template.spec.containers : [],
  );

  test("settings", () => {
    const named = [
      ...containers.flatMap(({ env = [] }) => env.map(({ name }) => name)),
      ...all.flatMap(({ kind, data = {} }) => (kind === "ConfigMap" ? Object.keys(data) : [])),
    ];
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !variables.has(name))).toEqual([]);
  });

  test("probes", () => {
    const paths = Object.values(OPERATIONS).map(({ path }) => path);
    const probes = containers.flatMap((container) =>
      (["startupProbe", "readinessProbe", "livenessProbe"] as const).flatMap((name) => container[name] ?? []),
    );
    expect(new Set(probes.map(({ httpGet }) => httpGet.path))).toEqual(new Set(["/readyz", "/healthz"]));
    for (const { httpGet } of probes) expect(paths).toContain(httpGet.path);
    for (const { httpGet } of probes) expect(httpGet.port).toBe("api");
  });

  test("ports: the program's own, where no variable sets another", () => {
    const ports = containers.flatMap(({ ports = [] }) =>
      ports.map((port) => [port.name, port.containerPort]),
    );
    expect(ports).toEqual([
      ["api", 8080],
      ["admin", 8081],
      ["api", 8080],
      ["admin", 8081],
    ]);
  });

  test("commands", () => {
    const command = join(DEPLOY, "../node_modules/.bin/inkling");
    const used = new Set(containers.flatMap(({ args }) => (args === undefined ? [] : args.join(" "))));
    expect([...used].sort()).toEqual(["build --publish", "serve"]);
    for (const args of used) {
      const [name = "", ...options] = args.split(" ");
      const help = run([command, name, "--help"]);
      expect(help).toStartWith(`Usage: inkling ${name} `);
      for (const option of options) expect(help).toContain(`${option} `);
    }
  });
});

for (const mode of MODES) {
  withPrograms(`${mode} is valid for Kubernetes`, ["kubectl"], true, async () => {
    const objects = kustomized(mode);
    expect(objects.length).toBeGreaterThan(4);
    for (const object of objects) {
      const models = await import(`kubernetes-models/${object.apiVersion}/${object.kind}`);
      new models[object.kind](object).validate();
    }
  });

  withPrograms(`${mode} drains before it is killed`, ["kubectl"], true, () => {
    const [server] = kustomized(mode).filter(
      ({ kind, metadata }) => kind === "Deployment" && metadata.name === "inkling",
    );
    const pod = server!.spec.template.spec as never as { terminationGracePeriodSeconds: number };
    const drain = server!.spec.template.spec.containers[0]!.env.find(
      ({ name }) => name === "INKLING_DRAIN_SECONDS",
    );
    expect(drain?.value).toBe("15");
    // docs/one-host.md, section "Stop"
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(Number(drain!.value) + 15);
  });

  withPrograms(`${mode} is hardened, and every mount has its volume`, ["kubectl"], true, () => {
    for (const { kind, spec } of kustomized(mode)) {
      if (kind !== "Deployment") continue;
      const pod = spec.template.spec as never as Pod;
      expect(pod.securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: "RuntimeDefault" },
      });
      expect(pod).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
      expect(pod.initContainers).toBeUndefined();
      const volumes = pod.volumes.map(({ name }) => name);
      for (const container of pod.containers) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        });
        expect(container.volumeMounts.map(({ name }) => name).toSorted()).toEqual(volumes.toSorted());
      }
    }
  });
}

withPrograms(
  "docs/kubernetes.md: Helm's templates produce the objects of the kustomization",
  ["kubectl"],
  true,
  () => {
    const [, recipe = ""] = /^(mkdir -p chart[\s\S]*?)^helm /m.exec(PAGE) ?? [];
    const own = temporaryFolder();
    cpSync(join(DEPLOY, "kubernetes"), join(own, "deploy/kubernetes"), { recursive: true });
    mkdirSync(join(own, "inkling"));
    const components = "components: [../deploy/kubernetes/metrics, ../deploy/kubernetes/prometheus-operator]";
    writeFileSync(
      join(own, "inkling/kustomization.yaml"),
      `resources: [../deploy/kubernetes/channel]\n${components}\n`,
    );
    run(["sh", "-ec", `cd ${own}\n${recipe}`]);
    const template = join(own, "chart/templates/inkling.yaml");
    expect(readFileSync(template, "utf8")).toContain('{{"{{"}} $labels.instance }}');
    // Helm's templates are Go's, which kubectl can also evaluate.
    const dry = ["kubectl", "create", "configmap", "any", "--dry-run=client"];
    const rendered = run([...dry, `--output=go-template-file=${template}`]);
    expect(rendered).toBe(run(["kubectl", "kustomize", join(own, "inkling")]));
  },
);

describe("metrics", () => {
  const withComponents = (mode: string, ...components: readonly string[]) =>
    customized(
      `resources: [../deploy/kubernetes/${mode}]\ncomponents: [${components
        .map((name) => `../deploy/kubernetes/${name}`)
        .join(", ")}]\n`,
    );
  const adminHosts = (objects: readonly Manifest[]) =>
    objects
      .filter(({ kind }) => kind === "Deployment")
      .flatMap(({ spec }) => spec.template.spec.containers)
      .flatMap(({ env }) =>
        env.filter(({ name }) => name === "INKLING_ADMIN_HOST").map(({ value }) => value),
      );
  const openTo = (objects: readonly Manifest[]) =>
    objects
      .filter(({ kind }) => kind === "NetworkPolicy")
      .flatMap(({ spec }) => (spec as never as { ingress: { ports: { port: string }[] }[] }).ingress)
      .flatMap(({ ports }) => ports.map(({ port }) => port));

  for (const mode of MODES) {
    withPrograms(
      `${mode}: the admin listener is on loopback, and nothing leads to it`,
      ["kubectl"],
      true,
      () => {
        const objects = kustomized(mode);
        expect(adminHosts(objects)).toEqual([]);
        expect(openTo(objects)).toEqual(["api"]);
        expect(objects.filter(({ kind }) => kind === "Service").map(({ metadata }) => metadata.name)).toEqual(
          ["inkling"],
        );
      },
    );
    withPrograms(`${mode}: a component opens it for Prometheus`, ["kubectl"], true, async () => {
      const objects = withComponents(mode, "metrics", "prometheus-operator");
      expect(adminHosts(objects)).toEqual(["0.0.0.0"]);
      expect(openTo(objects).toSorted()).toEqual(["admin", "api"]);
      const [service] = objects.filter(({ metadata }) => metadata.name === "inkling-admin");
      const [monitor] = objects.filter(({ kind }) => kind === "ServiceMonitor");
      const labels = (service as never as { metadata: { labels: object } }).metadata.labels;
      const { selector, jobLabel, endpoints } = monitor!.spec as never as {
        selector: { matchLabels: Record<string, string> };
        jobLabel: string;
        endpoints: { port: string; path: string }[];
      };
      expect(labels).toMatchObject(selector.matchLabels);
      expect((labels as Record<string, string>)[jobLabel]).toBe("inkling"); // the alerts select this job
      const { ports } = service!.spec as never as { ports: { name: string }[] };
      expect(endpoints).toEqual([{ port: ports[0]!.name, path: "/metrics", interval: "15s" } as never]);
    });
  }

  test("the rules of the Prometheus Operator are those of deploy/prometheus", () => {
    const rules = readFileSync(join(DEPLOY, "prometheus/inkling.rules.yml"), "utf8");
    const own = readFileSync(join(DEPLOY, "kubernetes/prometheus-operator/rules.yaml"), "utf8");
    // If this fails, run the command in the file's header: { sed '/^spec:/q' rules.yaml; sed 's/^./  &/'
    // ../../prometheus/inkling.rules.yml; }
    expect(own.slice(own.indexOf("\nspec:\n") + 7)).toBe(rules.replace(/^./gm, "  $&"));
    expect((Bun.YAML.parse(own) as Manifest).spec as object).toEqual(Bun.YAML.parse(rules) as object);
  });
});

withPrograms(
  "docs/kubernetes.md: the kustomization mounts the CA that the database URL names",
  ["kubectl"],
  true,
  () => {
    const [, example = ""] = /^```yaml\n(resources:[\s\S]*?)^```$/m.exec(PAGE) ?? [];
    const objects = customized(example);
    const pods = objects.filter(({ kind }) => kind === "Deployment").map(({ spec }) => spec.template.spec);
    expect(pods).toHaveLength(2); // the server and the builder
    for (const { containers, volumes } of pods) {
      const mounts = containers[0]!.volumeMounts as readonly { name: string; mountPath?: string }[];
      const mount = mounts.find(({ mountPath }) => mountPath === dirname(CA_FILE));
      expect(volumes).toContainEqual({ name: mount!.name, secret: { secretName: "postgres-ca" } });
    }
  },
);

interface Pod {
  readonly securityContext: object;
  readonly initContainers?: unknown;
  readonly volumes: readonly Volume[];
  readonly containers: readonly (Container & { readonly securityContext: object })[];
}
