// admin-listener.ts: runs the admin listener, which serves the admin API, metrics, and the console.

import { hostname } from "node:os";
import { ADMIN_PATH, ADMIN_PROBLEMS, type AdminProblemCode, MAX_IMPORT_BYTES } from "@inkling/contract";
import type { AdminApp } from "../admin/app.ts";
import { METRICS_TYPE, metricsText } from "../admin/metrics.ts";
import type { Services } from "../admin/services.ts";
import { Traffic } from "../admin/traffic.ts";
import { HostNames } from "../http/host-names.ts";
import { listen } from "../http/listener.ts";
import { loadOnce } from "../http/load-once.ts";
import { AdminProblem, countProblem, PROBLEM_TYPE, problemBody } from "../http/problems.ts";
import { pathEnd, targetOf } from "../http/router.ts";
import { verifyInThread } from "../releases/verify.ts";
import type { HostReporter } from "./host-reporter.ts";

/**
 * Number of bytes by which a body may exceed the admin API's limit, so that the admin API can return a problem. If a
 * body is larger, the listener refuses it.
 */
const SLACK_BYTES = 1024 * 1024;

export class AdminListener {
  private readonly services: Services;
  private readonly reporter: HostReporter;
  private readonly traffic: Traffic;
  private readonly hostNames: HostNames;
  private readonly server: Bun.Server<undefined>;
  /** Loading the admin API takes 40 ms, which delays its first request instead of the startup. */
  private readonly app = loadOnce(() => this.loadApp());

  /** Starts the listener. @throws StartError if the port is unavailable */
  constructor(services: Services, reporter: HostReporter) {
    this.services = services;
    this.reporter = reporter;
    const { settings } = services;
    this.traffic = new Traffic(services);
    this.hostNames = new HostNames([settings.adminHost, hostname(), ...settings.adminNames]);
    this.server = listen({
      what: "admin port",
      hostname: settings.adminHost,
      port: settings.adminPort,
      fetch: (request, _, isUnclear) => this.answer(request, isUnclear),
      maxBodyBytes: MAX_IMPORT_BYTES + SLACK_BYTES,
    });
    this.traffic.start();
  }

  get port(): number {
    return this.server.port!; // a TCP listener always has a port
  }

  async stop(): Promise<void> {
    this.traffic.stop();
    await this.server.stop(true);
  }

  private async answer(request: Request, isUnclear: boolean): Promise<Response> {
    try {
      return await this.route(request, isUnclear);
    } catch (error) {
      const id = this.services.newRequestId();
      this.services.log.crash("admin-request-failed", error, [], { request_id: id });
      return this.refuse("INTERNAL", id);
    }
  }

  private async route(request: Request, isUnclear: boolean): Promise<Response> {
    const { method, headers, url } = request;
    const isOwnHost = this.hostNames.isOwnHost(headers.get("host"));
    if (!isOwnHost || isUnclear) {
      const id = this.services.newRequestId();
      const response = this.refuse(isOwnHost ? "PATH_INVALID" : "HOST_REFUSED", id);
      const { status } = response;
      this.services.log.info("admin-request", { method, route: "none", status, request_id: id });
      return response;
    }
    const target = targetOf(url);
    if (target.startsWith(ADMIN_PATH)) return (await this.app()).handle(request);
    const path = target.slice(0, pathEnd(target));
    if (path === "/metrics") return this.metrics();
    if (path === "/docs/errors") {
      const { PROBLEMS_PAGE_HEADERS, problemsPage } = await import("../openapi/problems-page.ts");
      return new Response(problemsPage(ADMIN_PROBLEMS), { headers: PROBLEMS_PAGE_HEADERS });
    }
    const file = await this.services.settings.console?.(request, path);
    return (
      file ??
      new Response("404: this listener has /, /metrics, /docs/errors and /admin/v1/\n", { status: 404 })
    );
  }

  private refuse(code: AdminProblemCode, requestId: string): Response {
    countProblem(this.services.adminProblems, code);
    const problem = new AdminProblem(code);
    const headers = {
      "Content-Type": PROBLEM_TYPE,
      "Cache-Control": "no-store",
      "X-Request-Id": requestId,
    };
    return new Response(problemBody(problem, requestId), { status: problem.status, headers });
  }

  private metrics(): Response {
    this.services.serving.refresh();
    return new Response(metricsText(this.services), { headers: { "Content-Type": METRICS_TYPE } });
  }

  private async loadApp(): Promise<AdminApp> {
    const { services, reporter, hostNames, traffic } = this;
    const [{ AdminApp }, { AdminSessions }] = await Promise.all([
      import("../admin/app.ts"),
      import("../admin/sessions.ts"),
    ]);
    return new AdminApp({
      ...services,
      verify: verifyInThread,
      reporter,
      hostNames,
      traffic,
      sessions: new AdminSessions(services.randomBytes),
      actions: await services.settings.actions?.(),
    });
  }
}
