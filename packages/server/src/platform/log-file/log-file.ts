// Lines on their way to a file, a pipe or a terminal that may take none: nobody waits for it.

import { write, writeSync } from 'node:fs'

/** Lines are written together from this size on, and otherwise within half a second. */
const WRITE_BYTES = 4_096
const WRITE_MS = 500
/** A reader that stands still costs this much memory; further lines are dropped. */
const HELD_BYTES_MAX = 4 * 1024 * 1024
const RETRY_MS = 20

/** A destination of pino, whose own one waits on the main thread for a file that takes nothing. */
export class LogFile {
  readonly #fd: number
  readonly #describeDropped: (lines: number) => string
  #held: string[] = []
  #held_bytes = 0
  /** What the system is writing, and how many lines it is. */
  #writing: Buffer | null = null
  #writing_lines = 0
  #dropped = 0

  /** @param describeDropped the line that says how many were dropped, once it takes some again */
  constructor(fd: number, describeDropped: (lines: number) => string) {
    this.#fd = fd
    this.#describeDropped = describeDropped
    setInterval(() => this.#begin(), WRITE_MS).unref()
    process.on('exit', () => this.flush())
  }

  write(line: string): void {
    if (this.#held_bytes >= HELD_BYTES_MAX) {
      this.#dropped += 1
      return
    }
    this.#held.push(line)
    this.#held_bytes += line.length
    if (this.#held_bytes >= WRITE_BYTES) this.#begin()
  }

  /** Before the process ends. What it would have to wait for is left out. */
  flush(): void {
    if (this.#writing !== null || this.#held.length === 0) return
    try {
      writeSync(this.#fd, this.#take())
    } catch {
      // Nobody can be told.
    }
  }

  #take(): string {
    const text = this.#held.join('')
    this.#held = []
    this.#held_bytes = 0
    return text
  }

  #begin(): void {
    if (this.#writing !== null || this.#held.length === 0) return
    this.#writing_lines = this.#held.length
    this.#writing = Buffer.from(this.#take())
    this.#continue(this.#writing)
  }

  #continue(rest: Buffer): void {
    write(this.#fd, rest, (error, bytes) => {
      if (error?.code === 'EAGAIN') {
        setTimeout(() => this.#continue(rest), RETRY_MS).unref()
        return
      }
      const left = error ? null : rest.subarray(bytes)
      if (left !== null && left.length > 0) {
        this.#continue(left)
        return
      }
      this.#writing = null
      if (error) this.#dropped += this.#writing_lines
      else if (this.#dropped > 0) {
        this.#held.unshift(this.#describeDropped(this.#dropped))
        this.#dropped = 0
      }
      if (this.#held_bytes >= WRITE_BYTES) this.#begin()
    })
  }
}
