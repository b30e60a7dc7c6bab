-- SPDX-License-Identifier: BSD-2-Clause
-- For WirePlumber 0.4: keeps cameras for halod. Programs that take cameras from PipeWire then list
-- those of halod only; halod itself opens the devices directly (input: /dev/video0). Programs that
-- open devices themselves still can.
--
-- To use it, copy it to ~/.config/wireplumber/main.lua.d/ and run
-- systemctl --user restart wireplumber. To keep one camera only, name it in the matches, as in
-- { "device.product.name", "equals", "Desk Camera" }; wpctl inspect lists the properties.

table.insert(v4l2_monitor.rules, {
  matches = { { { "device.name", "matches", "v4l2_device.*" } } },
  apply_properties = { ["device.disabled"] = true },
})
libcamera_monitor.enabled = false -- it may list the same cameras
