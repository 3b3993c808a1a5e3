/* One if all numbers are finite, else zero. */
static int @NAME@_finite(const double x[], int count)
{
    double sum = 0.0;
    int i;
    for (i = 0; i < count; i++) {
        sum += 0.0*x[i];
    }
    return sum == 0.0;
}
//---- functions
/* The stages k of an explicit Runge-Kutta step, each (q', q''), and the state y1 to which they lead. */
static int @NAME@_stages(const double y[], double t, double h, const double p[], int stages, const double nodes[],
    const double weights[], const double result[], double k[], double y1[])
{
    double state[@NAME@_STATES];
    int i, j, s, valid = 1;
    for (s = 0; s <= stages && valid; s++) {
        const double *factors = s < stages ? weights + s*stages : result;
        for (i = 0; i < @NAME@_STATES; i++) {
            double sum = 0.0;
            for (j = 0; j < s; j++) {
                sum += factors[j]*k[j*@NAME@_STATES + i];
            }
            state[i] = y[i] + h*sum;
        }
        if (s == stages) {
            break;
        }
        for (i = 0; i < @NAME@_COORDINATES; i++) {
            k[s*@NAME@_STATES + i] = state[@NAME@_COORDINATES + i];
        }
        valid = @NAME@_acceleration(state, t + nodes[s]*h, p, k + s*@NAME@_STATES + @NAME@_COORDINATES);
    }
    for (i = 0; i < @NAME@_STATES; i++) {
        y1[i] = state[i];
    }
    return valid;
}

int @NAME@_step(double y[], double t, double h, const double p[])
{
    static const double nodes[] = @FIXED_NODES@;
    static const double weights[] = @FIXED_WEIGHTS@;
    static const double result[] = @FIXED_RESULT@;
    double k[@FIXED_STAGES@*@NAME@_STATES], y1[@NAME@_STATES], y2[@NAME@_STATES];
    double moved = 0.0, step = 0.0, size = 0.0;
    int i;
    if (!(@AGREE@@NAME@_stages(y, t, h, p, @FIXED_STAGES@, nodes, weights, result, k, y1)
        && @NAME@_project(y1, t + h, p, y2))) {
        return 0;
    }
    for (i = 0; i < @NAME@_STATES; i++) {
        moved += (y2[i] - y1[i])*(y2[i] - y1[i]);
        step += (y1[i] - y[i])*(y1[i] - y[i]);
        size += y1[i]*y1[i];
    }
    /* a projection that moves the state by more than half of the step shows that a constraint jumps */
    if (!(moved <= @FIXED_ABRUPT@*step + @FIXED_ROUNDING@*size)) {
        return 0;
    }
    for (i = 0; i < @NAME@_STATES; i++) {
        y[i] = y2[i];
    }
    return 1;
}

/* The error of a step relative to the tolerance: two estimates, of orders 5 and 3, combined as in DOP853. */
static double @NAME@_error(const double y[], const double y1[], double h, const double k[], double rtol,
    const double atol[])
{
    static const double fifth[] = @ERROR_5@;
    static const double third[] = @ERROR_3@;
    double sum5 = 0.0, sum3 = 0.0;
    int i, s;
    for (i = 0; i < @NAME@_STATES; i++) {
        const double allowed = atol[i] + rtol*fmax(fabs(y[i]), fabs(y1[i]));
        double e5 = 0.0, e3 = 0.0;
        for (s = 0; s < @STAGES@; s++) {
            e5 += fifth[s]*k[s*@NAME@_STATES + i];
            e3 += third[s]*k[s*@NAME@_STATES + i];
        }
        sum5 += (e5/allowed)*(e5/allowed);
        sum3 += (e3/allowed)*(e3/allowed);
    }
    return sum5 == 0.0 ? 0.0 : fabs(h)*sum5/sqrt((sum5 + 0.01*sum3)*@NAME@_STATES);
}

/* The largest distance by which a projection moved a component, relative to the tolerance. */
static double @NAME@_moved(const double y1[], const double y2[], double rtol, const double atol[])
{
    double most = 0.0;
    int i;
    for (i = 0; i < @NAME@_STATES; i++) {
        const double share = fabs(y2[i] - y1[i])/(atol[i] + rtol*fmax(fabs(y1[i]), fabs(y2[i])));
        most = share <= most ? most : share;
    }
    return most;
}

/* The stages k of a step of the Dormand-Prince method of order 8, and the state y1 to which they lead. */
static int @NAME@_long_step(const double y[], double t, double h, const double p[], double k[], double y1[])
{
    static const double nodes[] = @NODES@;
    static const double weights[] = @WEIGHTS@;
    static const double result[] = @RESULT@;
    return @NAME@_stages(y, t, h, p, @STAGES@, nodes, weights, result, k, y1);
}

/* One attempt of a step: its error relative to the tolerance, and the state y2 after it; infinite if refused. */
static double @NAME@_attempt(const double y[], double t, double h, const double p[], double rtol, const double atol[],
    double y2[])
{
    double k[@STAGES@*@NAME@_STATES], y1[@NAME@_STATES];
    double error;
    if (!@NAME@_long_step(y, t, h, p, k, y1)) {
        return INFINITY;
    }
    error = @NAME@_error(y, y1, h, k, rtol, atol);
    if (!(error < 1.0)) {
        return error;
    }
    /* a distance that no truncation error explains shows that a constraint jumps */
    if (!(@NAME@_project(y1, t + h, p, y2) && @NAME@_moved(y1, y2, rtol, atol) <= @ABRUPT@)) {
        return INFINITY;
    }
    return error;
}

int @NAME@_integrate(double y[], double *t, double end, double *h, const double p[], double rtol, const double atol[],
    int most)
{
    double growth = @MOST_RATIO@, y2[@NAME@_STATES];
    int count, i;
    if (!(*h > 0.0)) {
        *h = @FIRST_FRACTION@*(end - *t);
    }
    for (count = 0; count < most && *t < end; count++) {
        const double planned = *h, left = end - *t;
        const int last = planned*(1.0 + @LAST_STEP_SLACK@) >= left;
        const double size = last ? left : planned;
        double error, ratio;
        if (!(planned >= fmax(@SPACING@*fabs(*t), @SHORTEST_SPAN@*left)@AND_AGREE@)) {
            return 0;
        }
        error = @NAME@_attempt(y, *t, size, p, rtol, atol, y2);
        ratio = @SAFETY_FACTOR@/pow(error, 1.0/@ORDER@);
        if (error < 1.0) {
            ratio = fmin(ratio, error == 0.0 ? @MOST_RATIO_AT_REST@ : growth);
            /* a last step that was cut short does not shorten the next one */
            *h = last ? fmax(planned, size*ratio) : size*ratio;
            *t = last ? end : *t + size;
            for (i = 0; i < @NAME@_STATES; i++) {
                y[i] = y2[i];
            }
            growth = @MOST_RATIO@;
        } else {
            *h = size*fmax(ratio, @LEAST_RATIO@);
            growth = 1.0;
        }
    }
    return !(*t < end);
}
