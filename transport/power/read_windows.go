package power

import (
	"context"
	"syscall"
	"unsafe"
)

// systemPowerStatus is SYSTEM_POWER_STATUS of winbase.h.
type systemPowerStatus struct {
	ACLineStatus        byte // 0 offline, 1 online, 255 unknown
	BatteryFlag         byte
	BatteryLifePercent  byte // 255 unknown
	SystemStatusFlag    byte
	BatteryLifeTime     uint32
	BatteryFullLifeTime uint32
}

func (r Reader) system(context.Context) Reading {
	get := syscall.NewLazyDLL("kernel32.dll").NewProc("GetSystemPowerStatus")
	if get.Find() != nil {
		return mains
	}
	var s systemPowerStatus
	if ok, _, _ := get.Call(uintptr(unsafe.Pointer(&s))); ok == 0 {
		return mains
	}
	out := Reading{OnBattery: s.ACLineStatus == 0, Percent: Unknown}
	if s.BatteryLifePercent <= 100 {
		out.Percent = int(s.BatteryLifePercent)
	}
	return out
}
