# SPDX-License-Identifier: BSD-2-Clause
# Every function that takes frames, and why it may: the list that test_frames.py holds.
"""FILE: (WHY, FUNCTIONS). Files are those of pipeline/ unless they say otherwise."""

# Before the gate, and in it. Nothing here may hand a frame to anybody but the next one here.
RAW = {
    'input/decode.c': ('decoders make raw frames', '''
        get_buffer set_time find_turn settle_frame halo_decoder_receive
        has_flags decode_judge_frame'''),
    'input/decoders.c': ('from several decoders, in order', '''
        put receive receive_single halo_decoders_receive'''),
    'frame/raw_frame.c': ('their times, and their end', '''
        halo_raw_frame_pts halo_raw_frame_set_pts halo_raw_frame_move
        halo_raw_frame_judge halo_raw_frame_destroy'''),
    'frame/decode_memory.c': ('memory that decoders write into', 'lay_out halo_decode_memory_get'),
    'input/source_test.c': ('test: draws raw frames', 'draw_luma draw_chroma draw halo_test_source_read'),
    'camera/camera_buffers.c': ('mapped buffers of a camera', 'judge halo_camera_take'),
    'camera/camera_pipewire.c': ('buffers of a node of PipeWire', 'halo_camera_pipewire_take'),
    'camera/camera_read.c': ('a camera\'s buffers become raw frames, or packets for a decoder', '''
        count_sequence take_newest time_of make_raw make_packet make_frame wait_for_newest
        halo_camera_read'''),
    'camera/camera_unpack.c': ('their samples into planes',
                        'halo_camera_is_whole unpack_pairs halo_camera_unpack'),
    'base/av_version.c': ('how long a frame is to be shown, and in which fields', '''
        halo_av_frame_duration halo_av_frame_set_duration halo_av_frame_fields
        halo_av_frame_set_fields'''),
    'base/display.c': ('how a raw frame is to be shown', 'halo_display_of_frame'),
    'frame/orient.c': ('turns raw frames', 'part_of turn_planes spill_of halo_orient_pass'),
    'input/first_frame.c': ('the first frame of a stream, for what it says of itself',
                        'note'),
    'stream/stage_source.c': ('from the decoders into the queue to the gate', 'receive_frame'),
    'stream/live_camera.c': ('from the camera, or its decoder, turned, to the source thread', '''
        read_camera take_camera halo_live_read_camera'''),
    'stream/live_clock.c': ('the time of a raw frame', 'halo_live_clock_pass'),
    'stream/live_from_file.c': ('from the decoder', 'halo_live_read_file'),
    'stream/live_input.c': ('from a decoder', 'halo_live_input_receive'),
    'stream/source_ops.c': ('from test:, and from sources of all kinds to the source thread',
                            'read_test halo_live_input_read'),
    'stream/live_source.c': ('into the queue to the gate', 'take_frame'),
    'gate/adapt.c': ('raw frames into the gate\'s format, for gate.c alone', '''
        width_of height_of change convert download halo_adapter_to_host halo_adapter_pass'''),
    'frame/hw_frame.c': ('raw frames in a device\'s memory', '''
        frames_of halo_hw_frame_is halo_hw_frame_format halo_hw_frame_width halo_hw_frame_height
        plane_offset find_plane halo_hw_frame_plane halo_hw_frame_stream bytes_of halo_hw_keep_frame read_planes make_frame
        halo_hw_download'''),
    'detect/matte.c': ('edges of a matte follow a raw frame\'s; only weights leave',
                       'find_samples find_luma make download halo_matte_make'),
    'detect/detect.c': ('raw frames wait for what detectors find in them, and go on to the gate',
                        'hold bring_to_host take_frame give get get_replayed halo_detect_get'),
    'detect/detect_frame.c': ('raw frames into sealed memory for a detector, which must see them to '
                              'find what to hide', '''
        find_inside prepare make halo_detect_frame_make'''),
    'base/canary.c': ('the code that leak checkers look for, into raw frames of test:',
                 'paint_component halo_canary_paint'),
    'gate/again.c': ('an output frame as the input of another gate', 'filter'),
    'gate/leak.c': ('leaks on purpose, in builds with -Dfaults=true alone',
               'leak_plane halo_leak_make halo_leak'),
    'gate/leak.h': ('the same, in other builds: nothing', 'halo_leak'),
    'gate/gate.c': ('the gate', '''
        describe_output prepare_output steps_of is_own submit fail_filter fail_with_device submit_again
        adapt finish take_regions
        pass_samples can_pass enter_lane halo_gate_enter agree halo_gate_leave
        halo_pending_destroy'''),
}

# Behind the gate: they take halo_output_frame, or the AVFrame that one has lent them.
OUTPUT = {
    'gate/gate.c': ('what others may do with an output frame, and cards', '''
        halo_output_frame_frame halo_output_frame_epoch halo_output_frame_ref
        halo_output_frame_destroy halo_gate_blank allocate_card halo_gate_card'''),
    'frame/card.c': ('words, into memory that showed nothing', 'is_full halo_card_draw'),
    'output/encode.c': ('encoders', 'encoder_frame choose_frame prepare halo_encoder_send'),
    'stream/stage_encode.c': ('the encode stage of a run', 'send_frame encode_frame'),
    'stream/live_format.c': ('cards, in the shape of a blank frame', 'halo_live_card_draw'),
    'stream/live_codec.c': ('encodings of a live stream, raw ones too, and snapshots',
                     'encode_one scale halo_live_codec_pack halo_live_codec_image'),
    'stream/live_encodings.c': ('what left the gate, to encodings and snapshots',
                      'give_encoding halo_live_left'),
    'stream/live_snapshots.c': ('what left the gate, into snapshots', 'halo_live_snapshots_give'),
    'gate/again.c': ('what left the gate, through another one, for previews',
                     'as_input halo_gate_again'),
}

# They see no samples, or both sides need them; or a frame of sound.
EITHER = {
    'base/av.c': ('a scaler: of raw frames in adapt.c, of output frames in encode.c and live_codec.c',
             'halo_av_scale'),
    'frame/format.c': ('where the planes of a frame are', '''
        halo_format_plane halo_format_plane_as halo_format_prepare'''),
    'base/canary.c': ('whether a frame has that code', 'is_flat is_plain halo_canary_check'),
    'base/stats.c': ('counts bytes by the shape', 'halo_stats_copied'),
    'output/audio.c': ('sound', 'resample'),
    'stream/stage_source.c': ('items that are packets', 'held_add held_take pass_packet'),
    'region/mask_image.c': ('mask images: files that the settings name, and no frame of an input',
                     'convert decode is_gray take_weights'),
    'gate/queue.c': ('items pass as they are: who gets one out sees the type that its kind says',
                '''is_frame halo_item_finish put halo_queue_put halo_queue_put_newest get
                halo_queue_get halo_queue_try'''),
    'stream/stages.c': ('items into the gates and out of them', '''
        halo_stage_put halo_stage_get halo_stages_give take enter enter_all leave'''),
    'stream/live_encodings.c': ('items that are output frames', 'give encode pack take_frame'),
    'stream/stage_encode.c': ('the same', 'encode_item'),
}

# Who may know what is in a raw frame; tests put them before what they test.
INCLUDES = '''pipeline/camera/camera_read.c pipeline/input/decode.c pipeline/gate/gate.c
    pipeline/gate/again.c
    pipeline/detect/detect_frame.c pipeline/detect/matte.c pipeline/detect/detect.c
    pipeline/frame/orient.c pipeline/frame/raw_frame.c pipeline/input/source_test.c
    tests/pipeline/detect/test_detect.c tests/pipeline/detect/test_detect_frame.c
    tests/pipeline/detect/test_matte.c
    tests/pipeline/gate/test_gate.c tests/pipeline/gate/test_gate_cells.c
    tests/pipeline/gate/test_gate_regions.c tests/box/played.c'''

# Files with such words and no function that takes one: fields, items of sound and of the end, and
# memory for frames.
FIELDS = '''stream/graph.c stream/live_worker.c stream/live_cards.c stream/live_sound.c
    frame/frame_pool.c stream/stream.c'''

# Calls by which frames come from FFmpeg, change owner or reach memory of other processes.
CALLS = {
    'avcodec_receive_frame': '''pipeline/output/audio.c pipeline/input/decode.c
        pipeline/input/first_frame.c pipeline/region/mask_image.c''',
    'avcodec_send_frame': 'pipeline/output/audio.c pipeline/output/encode.c',
    'avcodec_encode_video2': '',
    'av_frame_clone': '''pipeline/gate/adapt.c pipeline/gate/again.c pipeline/output/encode.c
        pipeline/gate/gate.c pipeline/gate/leak.c''',
    'av_frame_ref': '',
    'av_frame_move_ref': 'pipeline/input/decode.c',
    'av_hwframe_transfer_data': '',
    'av_hwframe_map': '',
    'sws_scale': 'pipeline/base/av.c pipeline/region/mask_image.c',
    'sws_scale_frame': '',
    'halo_av_scale': '''pipeline/gate/adapt.c pipeline/base/av.c pipeline/detect/detect_frame.c
        pipeline/output/encode.c pipeline/stream/live_codec.c''',
    'halo_gate_enter': '''pipeline/gate/again.c pipeline/gate/gate.c pipeline/stream/stages.c''',
    'halo_gate_leave': '''pipeline/gate/again.c pipeline/gate/gate.c pipeline/stream/stages.c''',
    # A camera's buffers, which are its driver's; packets; images of snapshots; finished frames;
    # numbers of calls.
    'MAP_SHARED': '''daemon/view/frames.c pipeline/camera/camera_buffers.c
        pipeline/output/packet_memory.c tools/dev/calls.c''',
    'memfd_create': 'daemon/engine/engine_events.c daemon/view/frames.c daemon/supervisor/sup_process.c '
                    'daemon/engine/confine.c '  # allowed there
                    'pipeline/output/packet_writer.c pipeline/detect/detect_frame.c',
    'shm_open': '',
    'shmget': '',
    'vmsplice': '',
    'process_vm_writev': '',
    'cudaIpcGetMemHandle': '',
    'cudaMemExportToShareableHandle': '',
    'cuMemExportToShareableHandle': '',
    'VIDIOC_EXPBUF': '',
}
