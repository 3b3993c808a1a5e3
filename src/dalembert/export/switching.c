/* The first negative switching quantity in *ended, or -1; one if all of them are valid. */
static int @NAME@_ended(const double y[], double t, const double p[], int *ended)
{
    double s[@NAME@_SWITCHING];
    int i;
    *ended = -1;
    if (!@NAME@_switching(y, t, p, s)) {
        return 0;
    }
    for (i = @NAME@_SWITCHING - 1; i >= 0; i--) {
        if (s[i] < 0.0) {
            *ended = i;
        }
    }
    return 1;
}

/* One step of either method, without an estimate of its error: it is part of one that was accepted. */
static int @NAME@_partial_step(const double y[], double t, double h, const double p[], int adaptive, double y1[])
{
    double k[@STAGES@*@NAME@_STATES], y2[@NAME@_STATES];
    int i;
    if (adaptive) {
        return @NAME@_long_step(y, t, h, p, k, y2) && @NAME@_project(y2, t + h, p, y1);
    }
    for (i = 0; i < @NAME@_STATES; i++) {
        y1[i] = y[i];
    }
    return @NAME@_step(y1, t, h, p);
}

/* Replaces a step h at whose end y1 the mode is over by the shortest one of which this is true, by bisection. */
static int @NAME@_locate(double y[], double *t, double h, const double p[], int adaptive, double y1[], int *ended)
{
    double low = 0.0, high = h, y2[@NAME@_STATES];
    int i, count, last;
    for (count = 0; count < @SWITCH_BISECTIONS@; count++) {
        const double middle = low + (high - low)/2.0;
        if (!(*t + middle > *t + low && *t + middle < *t + high)) {
            break;
        }
        if (!(@NAME@_partial_step(y, *t, middle, p, adaptive, y2) && @NAME@_ended(y2, *t + middle, p, &last))) {
            return 0;
        }
        if (last < 0) {
            low = middle;
            continue;
        }
        high = middle;
        *ended = last;
        for (i = 0; i < @NAME@_STATES; i++) {
            y1[i] = y2[i];
        }
    }
    for (i = 0; i < @NAME@_STATES; i++) {
        y[i] = y1[i];
    }
    *t += high;
    return 1;
}

int @NAME@_step_to_switch(double y[], double *t, double h, const double p[], int *ended)
{
    double y1[@NAME@_STATES];
    int i;
    if (!(@NAME@_partial_step(y, *t, h, p, 0, y1) && @NAME@_ended(y1, *t + h, p, ended))) {
        return 0;
    }
    if (*ended >= 0) {
        return @NAME@_locate(y, t, h, p, 0, y1, ended);
    }
    for (i = 0; i < @NAME@_STATES; i++) {
        y[i] = y1[i];
    }
    *t += h;
    return 1;
}

int @NAME@_integrate_to_switch(double y[], double *t, double end, double *h, const double p[], double rtol,
    const double atol[], int most, int *ended)
{
    double y1[@NAME@_STATES];
    int count, i;
    *ended = -1;
    for (count = 0; count < most && *t < end; count++) {
        const double planned = *h;
        double later = *t;
        int done;
        for (i = 0; i < @NAME@_STATES; i++) {
            y1[i] = y[i];
        }
        done = @NAME@_integrate(y1, &later, end, h, p, rtol, atol, 1);
        if (later > *t) {
            if (!@NAME@_ended(y1, later, p, ended)) {
                return 0;
            }
            if (*ended >= 0) {
                return @NAME@_locate(y, t, later - *t, p, 1, y1, ended);
            }
            *t = later;
            for (i = 0; i < @NAME@_STATES; i++) {
                y[i] = y1[i];
            }
        } else if (!done && *h == planned) {
            return 0; /* no shorter step is left */
        }
    }
    return !(*t < end);
}
