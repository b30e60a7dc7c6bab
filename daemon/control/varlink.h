/* SPDX-License-Identifier: BSD-2-Clause
 * The words of the control socket. This header and docs/control.md are the wire format.
 *
 * It is Varlink (varlink.org): each message is one JSON object in UTF-8 and one NUL byte, over a
 * stream socket of AF_UNIX.
 *
 *   call    {"method": "io.halod.Control.Set", "parameters": {"name": "door", "filters": "..."}}
 *           "more": true    several answers are wanted; "oneway": true: none
 *   answer  {"parameters": {...}}
 *           "continues": true: more follow
 *   error   {"error": "io.halod.Control.NoSuchStream", "parameters": {"what": "...", ...}}
 *
 * Answers come in the order of the calls. Parameters that a method does not have are errors, so
 * that a misspelled one is noticed. "what" in an error is one line for a person. Snapshot's answer
 * carries a descriptor (SCM_RIGHTS) beside its first byte: a memfd with the image.
 *
 * Versions: methods and fields may be added; what is there keeps its meaning. A change that breaks
 * this gets another interface name, and the old one stays for a while. */
#ifndef HALO_VARLINK_H
#define HALO_VARLINK_H

#define HALO_VARLINK_SERVICE "org.varlink.service"
#define HALO_VARLINK_CONTROL "io.halod.Control"

/* Methods of org.varlink.service. */
#define HALO_METHOD_INFO        "GetInfo"
#define HALO_METHOD_DESCRIPTION "GetInterfaceDescription"

/* Methods of io.halod.Control; methods.c has their parameters. */
#define HALO_METHOD_LIST     "List"
#define HALO_METHOD_STATUS   "Status"
#define HALO_METHOD_SET      "Set"
#define HALO_METHOD_CONTROL  "SetControl"
#define HALO_METHOD_REGIONS  "SetRegions"
#define HALO_METHOD_START    "Start"
#define HALO_METHOD_STOP     "Stop"
#define HALO_METHOD_RESTART  "Restart"
#define HALO_METHOD_SNAPSHOT "Snapshot"
#define HALO_METHOD_RECORD   "Record"
#define HALO_METHOD_RELOAD   "Reload"
#define HALO_METHOD_EVENTS   "Events"
#define HALO_METHOD_FACTS    "Facts"

/* Parameters, in calls and answers. */
#define HALO_FIELD_NAME      "name"      /* string: of a stream */
#define HALO_FIELD_FILTERS   "filters"   /* string: a chain, as after -vf */
#define HALO_FIELD_CONTROL   "control"   /* string: of a camera, as halod devices calls it */
#define HALO_FIELD_VALUE     "value"     /* a whole number */
#define HALO_FIELD_PICTURE   "picture"   /* int: microseconds of CLOCK_MONOTONIC */
#define HALO_FIELD_REGIONS   "regions"   /* array of objects (regions.h) */
#define HALO_FIELD_FORMAT    "format"    /* string: "png" or "jpg" */
#define HALO_FIELD_ON        "on"        /* bool */
#define HALO_FIELD_CHECK     "check"     /* bool: only look */
#define HALO_FIELD_INTERVAL  "interval"  /* float: seconds between answers */
#define HALO_FIELD_INTERFACE "interface" /* string */
#define HALO_FIELD_STREAMS   "streams"   /* array of objects */
#define HALO_FIELD_STATUS    "status"    /* object: of everything */
#define HALO_FIELD_STREAM    "stream"    /* object: status of one stream */
#define HALO_FIELD_SIZE      "size"      /* int: bytes */
#define HALO_FIELD_EVENT     "event"     /* object */
#define HALO_FIELD_LOST      "lost"      /* int: events that this subscriber did not get here */
#define HALO_FIELD_FACTS     "facts"     /* object: what `haloctl doctor` judges */

/* Errors; each has "what". */
#define HALO_ERROR_INTERFACE HALO_VARLINK_SERVICE ".InterfaceNotFound" /* + interface */
#define HALO_ERROR_METHOD    HALO_VARLINK_SERVICE ".MethodNotFound"    /* + method */
#define HALO_ERROR_PARAMETER HALO_VARLINK_SERVICE ".InvalidParameter"  /* + parameter */
#define HALO_ERROR_MORE      HALO_VARLINK_SERVICE ".ExpectedMore"      /* needs "more": true */
#define HALO_ERROR_MESSAGE   HALO_VARLINK_CONTROL ".BadMessage"        /* no call, or no JSON */
#define HALO_ERROR_STREAM    HALO_VARLINK_CONTROL ".NoSuchStream"      /* + name */
#define HALO_ERROR_REFUSED   HALO_VARLINK_CONTROL ".Refused"           /* cannot be as asked */
#define HALO_ERROR_CONFIG    HALO_VARLINK_CONTROL ".BadConfig"         /* + errors: []string */
#define HALO_ERROR_FAILED    HALO_VARLINK_CONTROL ".Failed"            /* could have been, failed */
#define HALO_ERROR_WHAT      "what"
#define HALO_ERROR_ERRORS    "errors"

enum {
    HALO_VARLINK_MAX = 1 << 20, /* bytes of a call, its NUL included; longer: cut */
    HALO_VARLINK_CLIENTS = 64,  /* one more takes the place of one that is silent, or is closed */
    HALO_VARLINK_CALLS = 16,    /* sent before the answer to the first; more: cut */
    HALO_VARLINK_EVENTS = 256,  /* waiting for one subscriber; more: lost, and counted */
    HALO_VARLINK_STUCK_MS = 10000, /* without reading what waits for it: cut */
    HALO_VARLINK_CALL_MS = 30000,  /* before its first call, or within one: cut */
    HALO_VARLINK_IDLE_MS = 300000, /* between calls: cut */
};

#endif
