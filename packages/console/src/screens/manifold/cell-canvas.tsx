// The cells on a canvas: coloured by a lens, with zoom; a click chooses one. And the lenses.

import type { ManifoldExportReply } from '@custos/client/types'
import { Maximize, ZoomIn, ZoomOut } from 'lucide-react'
import { type MouseEvent, useEffect, useRef, useState } from 'react'
import { IconButton } from '../../parts/button.tsx'
import css from './manifold.module.css'

export type ManifoldCell = ManifoldExportReply['cells'][number]

export interface Lens {
  readonly id: string
  readonly title: string
  readonly about: string
  /** The value of a cell; null if it has none. */
  readonly valueOf: (cell: ManifoldCell) => number | null
  /** The value of the strongest colour; null for the largest value that occurs. */
  readonly most: number | null
}

const COUNT: Lens = {
  id: 'count',
  title: 'Decisions',
  about: 'The stronger the colour, the more decisions.',
  valueOf: ({ count }) => count,
  most: null,
}

export const LENSES: readonly Lens[] = [
  COUNT,
  {
    id: 'paid',
    title: 'Share paid',
    about: 'The stronger the colour, the more outcomes are good. An empty cell has no outcome.',
    valueOf: ({ lenses }) => lenses.paid,
    most: 1,
  },
  {
    id: 'default',
    title: 'Share defaulted',
    about: 'The stronger the colour, the more outcomes are bad. An empty cell has no outcome.',
    valueOf: ({ lenses }) => (lenses.paid === null ? null : 1 - lenses.paid),
    most: 1,
  },
  {
    id: 'resolved',
    title: 'Known outcomes',
    about: 'The stronger the colour, the more decisions have an outcome.',
    valueOf: ({ lenses }) => lenses.resolved,
    most: null,
  },
  {
    id: 'open',
    title: 'Without an outcome',
    about: 'The stronger the colour, the more decisions wait for an outcome.',
    valueOf: ({ count, lenses }) => count - lenses.resolved,
    most: null,
  },
]

export const lensOf = (id: string): Lens => LENSES.find((lens) => lens.id === id) ?? COUNT

const HEIGHT = 460
const STEP = 1.4
const ZOOM_MAX = 12
/** Opacity of cells without a value under the lens. */
const FAINT = 0.06

interface CellCanvasProps {
  readonly cells: readonly ManifoldCell[]
  /** Distance from the centre of a cell to that of its neighbours, in cell units. */
  readonly size: number
  readonly lens: Lens
  readonly chosen: string
  readonly onChoose: (cellId: string) => void
}

/** The transformation from cell units to canvas units. */
interface View {
  readonly scale: number
  readonly left: number
  readonly top: number
}

function viewOf({ cells, size }: CellCanvasProps, width: number, zoom: number): View {
  const xs = cells.map(({ x }) => x)
  const ys = cells.map(({ y }) => y)
  const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)]
  const fit = Math.min(width / (x1 - x0 + 3 * size), HEIGHT / (y1 - y0 + 3 * size))
  const scale = fit * zoom
  return {
    scale,
    left: width / 2 - ((x0 + x1) / 2) * scale,
    top: HEIGHT / 2 - ((y0 + y1) / 2) * scale,
  }
}

function hexagon(context: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
  context.beginPath()
  for (let i = 0; i < 6; i += 1) {
    const angle = (Math.PI / 3) * i + Math.PI / 6
    context.lineTo(x + radius * Math.cos(angle), y + radius * Math.sin(angle))
  }
  context.closePath()
}

function draw(canvas: HTMLCanvasElement, props: CellCanvasProps, view: View): void {
  const context = canvas.getContext('2d')
  if (!context) return
  const style = getComputedStyle(canvas)
  const { cells, lens, size, chosen } = props
  const values = cells.map((cell) => lens.valueOf(cell))
  const most = lens.most ?? Math.max(1, ...values.map((value) => value ?? 0))
  context.clearRect(0, 0, canvas.width, canvas.height)
  for (const [i, cell] of cells.entries()) {
    const value = values[i] ?? null
    hexagon(
      context,
      cell.x * view.scale + view.left,
      cell.y * view.scale + view.top,
      (size * view.scale) / Math.sqrt(3),
    )
    context.globalAlpha = value === null ? FAINT : 0.12 + 0.88 * (value / most)
    context.fillStyle = style.color
    context.fill()
    context.globalAlpha = cell.id === chosen ? 1 : 0.35
    context.lineWidth = cell.id === chosen ? 3 : 1
    context.strokeStyle = style.color
    context.stroke()
  }
}

export function CellCanvas(props: CellCanvasProps) {
  const box = useRef<HTMLCanvasElement>(null)
  const [zoom, setZoom] = useState(1)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const canvas = box.current
    if (!canvas) return
    const watch = new ResizeObserver(() => setWidth(canvas.clientWidth))
    watch.observe(canvas)
    return () => watch.disconnect()
  }, [])
  const view = viewOf(props, width, zoom)
  useEffect(() => {
    const canvas = box.current
    if (!canvas || width === 0) return
    canvas.width = width
    canvas.height = HEIGHT
    draw(canvas, props, view)
  })
  const pick = ({ nativeEvent: at }: MouseEvent) => {
    const [x, y] = [(at.offsetX - view.left) / view.scale, (at.offsetY - view.top) / view.scale]
    const hit = props.cells.find((cell) => Math.hypot(cell.x - x, cell.y - y) <= props.size / 2)
    props.onChoose(hit?.id ?? '')
  }
  return (
    <div className={css['map']}>
      <div className={css['zoom']}>
        <IconButton
          label="Zoom in"
          icon={ZoomIn}
          onClick={() => setZoom(Math.min(ZOOM_MAX, zoom * STEP))}
        />
        <IconButton
          label="Zoom out"
          icon={ZoomOut}
          onClick={() => setZoom(Math.max(1, zoom / STEP))}
        />
        <IconButton label="Whole map" icon={Maximize} onClick={() => setZoom(1)} />
      </div>
      {/* The table below has the same cells for the keyboard. */}
      <canvas ref={box} className={css['canvas']} onClick={pick} />
    </div>
  )
}
