// Shows on stderr how far long work is: one line that changes on a terminal, else a line now and
// then. Work that ends at once shows nothing.

const TERMINAL_MS = 200
const PLAIN_MS = 3_000

export interface Progress {
  /** Cheap: called as often as there is something to tell. */
  show(text: string): void
  /** Clears what is on the terminal; call it in every case. */
  end(): void
}

/** @param title stands before each text */
export function startProgress(title: string, out: NodeJS.WriteStream = process.stderr): Progress {
  const every = out.isTTY ? TERMINAL_MS : PLAIN_MS
  let due = performance.now() + every
  let shown = false
  return {
    show(text) {
      if (performance.now() < due) return
      due = performance.now() + every
      out.write(out.isTTY ? `\r\x1b[K${title}: ${text}` : `${title}: ${text}\n`)
      shown = true
    },
    end() {
      if (shown && out.isTTY) out.write('\r\x1b[K')
      shown = false
    },
  }
}

/** 1536 → `1.5 KB`; powers of 1,000 would disagree with what file listings show. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1)
  const value = bytes / 1024 ** power
  return `${power === 0 ? value : value.toFixed(1)} ${units[power]}`
}
