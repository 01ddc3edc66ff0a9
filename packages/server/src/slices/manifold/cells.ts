// Pure: hexagonal cells over the plane, and which of them a point falls into.

import type { ManifoldCell, ManifoldField, ManifoldPoint } from '@custos/contract'

export const HEX_PX = 60
const EXEMPLARS_MAX = 8
const SIDE_MIN = 6
const ROW_PX = (HEX_PX * Math.sqrt(3)) / 2

interface Cells {
  /** Cells along each side. */
  readonly side: number
  cellOf(point: Pick<ManifoldPoint, 'x' | 'y'>): Hex
}

interface Hex {
  readonly id: string
  /** Column and row; odd rows stand half a cell to the right. */
  readonly q: number
  readonly r: number
}

/** A grid over the area of the field; its number of cells grows with the number of points. */
export function cellsOver({ points, field }: Pick<ManifoldField, 'points' | 'field'>): Cells {
  const side = Math.max(SIDE_MIN, Math.round(Math.sqrt(5 * Math.sqrt(points.length))))
  const [width, height] = [(side - 0.5) * HEX_PX, (side - 1) * ROW_PX]
  const along = ([low, high]: readonly number[], value: number) =>
    (value - (low ?? 0)) / ((high ?? 0) - (low ?? 0) || 1)
  return {
    side,
    cellOf({ x, y }) {
      const at = { x: along(field.x_range, x) * width, y: along(field.y_range, y) * height }
      const row = Math.floor(at.y / ROW_PX)
      const near = [row, row + 1].map((r) => nearestOf(at.x, r, side))
      const away = ({ q, r }: Hex) => {
        const centre = centreOf(q, r)
        return (at.x - centre.x) ** 2 + (at.y - centre.y) ** 2
      }
      const [first, second] = near
      if (!first || !second) throw new Error('a plane has two rows at least')
      return away(second) < away(first) ? second : first
    },
  }
}

const clamp = (value: number, most: number) => Math.min(most, Math.max(0, value))

function nearestOf(x: number, row: number, side: number): Hex {
  const r = clamp(row, side - 1)
  const q = clamp(Math.round(x / HEX_PX - (r % 2) / 2), side - 1)
  const two = (number: number) => String(number).padStart(2, '0')
  return { id: `c_${two(q)}_${two(r)}`, q, r }
}

const centreOf = (q: number, r: number) => ({ x: HEX_PX * (q + (r % 2) / 2), y: r * ROW_PX })

const hundredths = (value: number) => Math.round(value * 100) / 100

/** Cells that hold a point, by row and column. */
export function fillCells(
  points: readonly ManifoldPoint[],
  placed: readonly Hex[],
): ManifoldCell[] {
  const byId = Map.groupBy(placed.keys(), (at) => placed[at]?.id ?? '')
  const cells = [...byId.values()].flatMap((places) => {
    const hex = placed[places[0] ?? -1]
    const own = places.flatMap((at) => points[at] ?? [])
    return hex ? [cellOf(hex, own)] : []
  })
  return cells.sort((a, b) => a.r - b.r || a.q - b.q)
}

function cellOf({ id, q, r }: Hex, own: readonly ManifoldPoint[]): ManifoldCell {
  const { x, y } = centreOf(q, r)
  const paid = own.filter(({ outcome }) => outcome === 'paid').length
  const resolved = paid + own.filter(({ outcome }) => outcome === 'default').length
  const share = resolved === 0 ? null : Math.round((paid / resolved) * 1e4) / 1e4
  return {
    ...{ id, q, r, x: hundredths(x), y: hundredths(y), count: own.length, label: id },
    exemplars: own.slice(0, EXEMPLARS_MAX).map(({ decision_id }) => decision_id),
    lenses: { paid: share, resolved },
  }
}
