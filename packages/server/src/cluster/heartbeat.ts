// heartbeat.ts: in a worker: is the primary alive?
//
// in   once a second the primary's beats, which grow each second
// out  silent: its keys may be out of date, so this worker is not ready; gone: this worker has to end
// note Looks are counted, not time: while this machine sleeps or this process waits for a CPU, nothing is counted. So a
//      slow machine, which slows both, does not make the primary silent.

export const SILENT_LOOKS = 10;
export const GONE_LOOKS = 30;

type PrimaryState = "alive" | "silent" | "gone";

export class Heartbeat {
  private beats: number | undefined;
  private looks = 0;

  look(beats: number): PrimaryState {
    this.looks = beats === this.beats ? this.looks + 1 : 0;
    this.beats = beats;
    return this.state;
  }

  get state(): PrimaryState {
    if (this.looks >= GONE_LOOKS) return "gone";
    return this.looks >= SILENT_LOOKS ? "silent" : "alive";
  }

  get isSilent(): boolean {
    return this.state !== "alive";
  }
}
