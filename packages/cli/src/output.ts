// Output of commands: tables on stdout, and the progress of long work on stderr.
//
// On a terminal, progress is one line that changes, otherwise a line every few seconds. Short work
// shows no progress.

const TERMINAL_MS = 200
const PLAIN_MS = 3_000

interface Progress {
  /** Cheap enough to call for every item. */
  show(text: string): void
  /** Clears the terminal line; call it also after failures. */
  end(): void
}

/** @param title printed before each text */
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

/** 1536 → `1.5 KB`. Units are powers of 1,024, as in file listings. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1)
  const value = bytes / 1024 ** power
  return `${power === 0 ? value : value.toFixed(1)} ${units[power]}`
}

/** Rows as aligned columns of text; numbers align right, the first row is the head. */
export function formatTable(rows: readonly (readonly (string | number)[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => String(row[column] ?? '').length)),
  )
  return rows
    .map((row) =>
      row
        .map((cell, column) => {
          const width = widths[column] ?? 0
          return typeof cell === 'number' ? String(cell).padStart(width) : cell.padEnd(width)
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
