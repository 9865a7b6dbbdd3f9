// heartbeat.ts: tells a worker whether the primary is alive.
//
// The monitor counts checks instead of measuring time. It counts nothing while the machine sleeps or this process waits
// for a CPU. A slow machine slows down both processes, so it does not make the primary look silent.

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
