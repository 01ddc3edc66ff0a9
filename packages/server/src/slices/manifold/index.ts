// The manifold: its reads, and their handlers for the HTTP layer.

import {
  DIMENSION_DEFAULT,
  type ManifoldCell,
  type ManifoldField,
  type ManifoldPoint,
  type manifold,
} from '@custos/contract'
import type { Handler, HandlersOf } from '../../platform/kernel/call.ts'
import { layOut, layouts } from './layout.ts'
import { drawField } from './picture.ts'
import { EMBEDDER_DIMENSIONS } from './vectors.ts'

const VERSION = '0.1.0'

const field: Handler<typeof manifold.field> = async (call, { query }) =>
  (await layOut(call, query.dimension ?? DIMENSION_DEFAULT)).field

const picture: Handler<typeof manifold.picture> = async (call, { query }) =>
  drawField((await layOut(call, query.dimension ?? DIMENSION_DEFAULT)).field)

const exportManifold: Handler<typeof manifold.export> = async (call, { query }) => {
  const { field } = await layOut(call, query.dimension ?? DIMENSION_DEFAULT)
  const { points, meta } = field
  const cells = cellsOver(field)
  const placed = points.map((point) => cells.cellOf(point))
  const vectors = {
    ...{ source: 'static', model: meta.model, dim: EMBEDDER_DIMENSIONS },
    matched: points.length,
    requested: meta.n_embeddings_total,
  }
  return {
    meta: {
      version: VERSION,
      somVersion: null,
      generatedAt: meta.generated_at,
      source: points.length > 0 ? 'real-vectors' : 'none',
      somGrid: [cells.side, cells.side],
      nSteps: 0,
      nDecisions: points.length,
      lenses: ['paid', 'resolved'],
    },
    cells: fillCells(points, placed),
    steps: [],
    edges: [],
    decisions: points.map(({ decision_id, log_seq, x, y }, at) => {
      const cell_id = placed[at]?.id ?? ''
      return { decision_id, log_seq, cell_id, x, y }
    }),
    hex_px: HEX_PX,
    generated_at: meta.generated_at,
    provenance: {
      vectors,
      steps: { source: 'none', real_count: 0, synthetic_count: 0 },
    },
  }
}

const locate: Handler<typeof manifold.locate> = async (call, { params, query }) => {
  const { step_id } = params
  const { items, field } = await layOut(call, query.dimension ?? DIMENSION_DEFAULT)
  const at = items.findIndex(({ decision_id }) => decision_id === step_id)
  const item = items[at]
  if (!item) return call.refuse('decision_not_found')
  const point = field.points[at]
  const place = point
    ? { cellId: cellsOver(field).cellOf(point).id, x: point.x, y: point.y }
    : { cellId: null, x: null, y: null }
  const { decision_id, seq } = item
  return { stepId: decision_id, decision_id, ...place, somVersion: null, log_seq: seq }
}

const clearCache: Handler<typeof manifold.clear_cache> = async ({ kernel, tenant_id }) => ({
  status: 'ok',
  cleared: layouts(kernel).clear(tenant_id),
})

const HEX_PX = 60
const EXEMPLARS_MAX = 8
const SIDE_MIN = 6
const ROW_PX = (HEX_PX * Math.sqrt(3)) / 2

interface Hex {
  readonly id: string
  /** Column and row. Odd rows are shifted half a cell to the right. */
  readonly q: number
  readonly r: number
}

/** A grid over the area of the field; its number of cells grows with the number of points. */
function cellsOver({ points, field }: Pick<ManifoldField, 'points' | 'field'>) {
  const side = Math.max(SIDE_MIN, Math.round(Math.sqrt(5 * Math.sqrt(points.length))))
  const [width, height] = [(side - 0.5) * HEX_PX, (side - 1) * ROW_PX]
  const along = ([low, high]: readonly number[], value: number) =>
    (value - (low ?? 0)) / ((high ?? 0) - (low ?? 0) || 1)
  return {
    side,
    cellOf({ x, y }: Pick<ManifoldPoint, 'x' | 'y'>): Hex {
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
function fillCells(points: readonly ManifoldPoint[], placed: readonly Hex[]): ManifoldCell[] {
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

export const manifoldHandlers = {
  field,
  picture,
  export: exportManifold,
  locate,
  clear_cache: clearCache,
} satisfies HandlersOf<typeof manifold>
