// prometheus.ts: runs a separate Prometheus for a test, with a temporary folder, a free port, and the rules with short
// windows.
//
// end  `stop`

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../harness/ports.ts";
import { temporaryFolder } from "../harness/release.ts";
import { until } from "../harness/until.ts";

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [at: number, value: string];
}

export class Prometheus {
  readonly url: string;
  private readonly child: ReturnType<typeof spawn>;
  private printed = "";

  private constructor(program: string, folder: string, port: number) {
    this.url = `http://127.0.0.1:${port}`;
    const options = {
      "config.file": join(folder, "prometheus.json"),
      "storage.tsdb.path": join(folder, "data"),
      "web.listen-address": `127.0.0.1:${port}`,
      "log.level": "warn",
    };
    const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
    this.child = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"] });
    this.child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      this.printed += text;
    });
  }

  static async start(program: string, targets: readonly string[], rules: string): Promise<Prometheus> {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "rules.yml"), rules);
    const config = {
      global: { scrape_interval: "500ms", scrape_timeout: "500ms", evaluation_interval: "500ms" },
      rule_files: ["rules.yml"],
      scrape_configs: [{ job_name: "inkling", static_configs: [{ targets }] }],
    };
    writeFileSync(join(folder, "prometheus.json"), JSON.stringify(config)); // JSON is valid YAML
    const prometheus = new Prometheus(program, folder, freePort());
    await until(() => {
      if (prometheus.child.exitCode !== null) throw new Error(`Prometheus ended: ${prometheus.printed}`);
      return fetch(`${prometheus.url}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    });
    return prometheus;
  }

  async query(query: string): Promise<readonly Sample[]> {
    const response = await fetch(`${this.url}/api/v1/query`, {
      method: "POST",
      body: new URLSearchParams({ query }),
    });
    const { status, error, data } = (await response.json()) as {
      status: string;
      error?: string;
      data?: { result: Sample[] };
    };
    if (status !== "success") throw new Error(`${query}: ${error}`);
    return data!.result;
  }

  async get<T>(path: string): Promise<T> {
    return ((await (await fetch(`${this.url}${path}`)).json()) as { data: T }).data;
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null) return;
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill("SIGKILL"); // none of its data is kept
    await ended;
  }
}
