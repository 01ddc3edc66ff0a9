// Which columns of a table are shown.

import { Menu } from '@base-ui/react/menu'
import { Check, Columns3 } from 'lucide-react'
import css from './menu.module.css'

interface ColumnMenuProps {
  readonly columns: readonly { readonly id: string; readonly header: string }[]
  readonly shown: readonly string[]
  readonly onChange: (ids: readonly string[]) => void
}

export function ColumnMenu({ columns, shown, onChange }: ColumnMenuProps) {
  const toggle = (id: string) => {
    const next = columns
      .map((column) => column.id)
      .filter((one) => (one === id ? !shown.includes(one) : shown.includes(one)))
    if (next.length > 0) onChange(next)
  }
  return (
    <Menu.Root>
      <Menu.Trigger className={css['trigger']} aria-label="Columns" title="Columns">
        <Columns3 size={16} aria-hidden />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner className={css['positioner']} sideOffset={4} align="end">
          <Menu.Popup className={css['popup']}>
            {columns.map(({ id, header }) => (
              <Menu.CheckboxItem
                key={id}
                className={css['item']}
                checked={shown.includes(id)}
                onCheckedChange={() => toggle(id)}
              >
                <span className={css['tick']}>
                  <Menu.CheckboxItemIndicator>
                    <Check size={14} aria-hidden />
                  </Menu.CheckboxItemIndicator>
                </span>
                {header}
              </Menu.CheckboxItem>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
